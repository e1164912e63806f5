import type { Test } from 'tap'
import { DEFAULT_TIMEOUT_MS } from '../../../../../src/app/channels/load.ts'
import {
  ACCEPTANCE_GRACE_MS,
  LIST_INTERVAL_MS,
} from '../../../../../src/app/tasks/watch/absence.ts'
import { seeLedger } from '../../../../../src/app/spending/ledger-lag.ts'
import { createReconcileRound } from '../../../../../src/app/tasks/watch/reconcile.ts'
import { createWatchRound } from '../../../../../src/app/tasks/watch/late-tasks.ts'
import { createObserve } from '../../../../../src/app/tasks/observe.ts'
import type { AnyEvent } from '../../../../../src/domain/any-event.ts'
import type { EventLog } from '../../../../../src/eventlog/log/types.ts'
import {
  createInput,
  type Replica,
  type ReplicaOptions,
  channelsWaiting,
  startWorld,
  uncertain,
  type Wish,
  type World,
} from '../../../support/world.ts'

/** Submissions whose outcome is not known, and rounds over them at times a test chooses. */

export const HOUR_MS = 3_600_000
/** The time of all tries, the grace upstream has, and a second more. */
export const ACCEPTED_BY_NOW_MS = 3 * DEFAULT_TIMEOUT_MS + 30_000 + ACCEPTANCE_GRACE_MS + 1_000

export function typesOf(events: readonly AnyEvent[]): readonly string[] {
  return events.map((event) => event.type).filter((type) => type !== 'TaskStatusChanged')
}

/**
 * A world whose reconcilers share a clock that the test moves, never behind the one that submissions have: on a busy
 * machine one is made long after the scene began.
 */
export async function startScene(t: Test) {
  const world = await startWorld(t, { sandbox: { queuedMs: 600_000 } })
  // Only who loses a submission is in a hurry.
  const hasty = world.replica({ channels: channelsWaiting(world, 300) })
  // As at the start of a process: one that never saw a complete ledger refuses after a second.
  await seeLedger(hasty.deps.freshness)
  let nowMs = Date.now()
  const clock = { nowMs: () => nowMs }
  const { tasks, deps: own } = world.replica()
  await seeLedger(own.freshness)
  // What is listed besides: a task of ours, by which a list shows that it works.
  await tasks.createTask(createInput())
  const lost = async (wish: Wish = {}): Promise<string> => {
    const id = await uncertain(hasty.tasks.createTask, { prompt: 'x [[sandbox hang]]', ...wish })
    await world.settle()
    return id
  }
  const replica = (options: ReplicaOptions = {}): Replica =>
    world.replica({ clock, perSecond: 1_000_000, ...options })
  const look = async ({ deps }: Replica = replica()): Promise<void> => {
    const settings = { owner: `reconciler-${String(nowMs)}`, scale: 0.001 }
    await createReconcileRound(deps, createObserve(deps), settings)(new AbortController().signal)
    await world.settle()
  }
  const watch = async ({ deps }: Replica = replica()): Promise<void> => {
    const settings = { owner: `watcher-${String(nowMs)}`, scale: 1 }
    await createWatchRound(deps, settings)(new AbortController().signal)
    await world.settle()
  }
  const pass = (ms: number): void => {
    nowMs = Math.max(nowMs, Date.now()) + ms
  }
  /** Both looks that prove an absence, the second by `last`. */
  const twoLooks = async (last?: Replica): Promise<void> => {
    pass(ACCEPTED_BY_NOW_MS)
    await look()
    pass(LIST_INTERVAL_MS)
    await look(last)
  }
  return { world, tasks, hasty, lost, replica, look, watch, pass, twoLooks }
}

export async function heldOf(world: World, platformId: string): Promise<string | undefined> {
  const { rows } = await world.pool.query<{ state: string }>(
    'select state from ledger.holds where source_id = $1',
    [platformId],
  )
  return rows[0]?.state
}

/** A log in which something else happens just before an event of a type is appended. */
export function beforeAppend(
  log: EventLog,
  type: string,
  meanwhile: () => Promise<unknown>,
): EventLog {
  let done = false
  return {
    ...log,
    append: async (...given) => {
      if (!done && given[1].some((event) => event.type === type)) {
        done = true
        await meanwhile()
      }
      return log.append(...given)
    },
  }
}

/** A creation straight at upstream, past the gateway. */
export async function makeUpstream(
  world: World,
  safetyIdentifier: string,
  prompt = 'x',
): Promise<void> {
  const response = await fetch(`${world.sandbox.url}/api/v3/contents/generations/tasks`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'domestic-video-2-0-260128',
      content: [{ type: 'text', text: prompt }],
      duration: 5,
      safety_identifier: safetyIdentifier,
    }),
  })
  if (!response.ok) throw new Error(await response.text())
  await response.arrayBuffer()
}

/** What a task's request carried upstream. */
export async function readMarker(world: World, platformId: string): Promise<string> {
  const [requested] = await world.eventsOf(platformId)
  if (requested?.type !== 'TaskRequested') throw new Error('a task begins with its request')
  return requested.data.marker
}
