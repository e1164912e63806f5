import type { Pool } from 'pg'
import { Counter, type Registry } from 'prom-client'
import { tryLead } from '../../../../projections/engine/leadership.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { NamespacedObjects } from '../../../storage/namespaced-objects.ts'
import {
  RESULT_LIFE_MS,
  resultHourMs,
  RESULTS,
  resultsMadeBefore,
} from '../../../storage/object-key.ts'
import type { ListedObject, ObjectStore } from '../../../storage/types.ts'
import { type PolicyDeps, runLoop } from '../../queue/policy-loop.ts'
import { createClaim } from './claim.ts'
import { type Referenced, referencedFiles, referencedPayloads } from './referenced.ts'

/** Removes objects that no request can use any more. A round may end early. */

/**
 * Results are kept this long after their end for running downloads; other objects are kept until
 * their event.
 */
const GRACE_MS = 3_600_000
const ROUND_OBJECTS = 1_000
const IDLE_MS = 300_000

interface PurgeDeps extends PolicyDeps {
  readonly pool: Pool
  readonly log: EventLog
  readonly clock: Clock
  /** The namespace that the log identifies. */
  readonly namespace: string
  readonly objects: NamespacedObjects
  readonly registry: Registry
}

export type PurgeRound = (signal: AbortSignal) => Promise<'more' | 'idle'>

/**
 * One round, run by the leader: one process at a time of all that share the objects. Objects of our
 * namespace are removed unless the log needs them. Objects without a namespace are removed only if
 * the log shows that they were ours and have ended; results by their name and age. Without a claim
 * nothing is removed.
 */
export function createPurgeRound(
  deps: PurgeDeps,
  roundObjects: number = ROUND_OBJECTS,
): PurgeRound {
  const { pool, log, objects, clock } = deps
  const purged = new Counter({
    name: 'tollgate_objects_purged_total',
    help: 'Objects removed because no caller can download them any more.',
    labelNames: ['purpose'],
    registers: [deps.registry],
  })
  const claim = createClaim(deps)
  const purgesOf = (store: ObjectStore, isClaimed: boolean): readonly PurgeRound[] => {
    const place: PurgedPlace = {
      store,
      clock,
      isClaimed,
      limit: roundObjects,
      remove: async (purpose, object) => {
        await store.remove(object.key)
        purged.inc({ purpose })
      },
    }
    return [
      purgeResults(place),
      ...[referencedPayloads(pool, log), referencedFiles(pool, log, clock)].map((kind) =>
        purgeUnneeded(place, kind),
      ),
    ]
  }
  const own = purgesOf(objects.store, true)
  const unprefixed = purgesOf(objects.unprefixed, false)
  return async (stopping) => {
    const lead = await tryLead(pool, `purge ${objects.store.name}`)
    if (lead === undefined) return 'idle'
    const signal = AbortSignal.any([stopping, lead.lost])
    try {
      const claimed = await claim()
      if (claimed === 'none' || claimed === 'settling') return 'idle'
      const purges = claimed === 'namespace' ? own : [...own, ...unprefixed]
      let outcome: 'more' | 'idle' = 'idle'
      for (const purge of purges) if ((await purge(signal)) === 'more') outcome = 'more'
      return signal.aborted ? 'idle' : outcome
    } finally {
      await lead.release()
    }
  }
}

interface PurgedPlace {
  readonly store: ObjectStore
  readonly clock: Clock
  /** Whether all objects there are ours. */
  readonly isClaimed: boolean
  /** Number of results that one round removes, and number of other objects that it checks. */
  readonly limit: number
  readonly remove: (purpose: string, object: ListedObject) => Promise<void>
}

/** Results are listed in the order of their creation: the first young one ends the round. */
function purgeResults({ store, clock, isClaimed, limit, remove }: PurgedPlace): PurgeRound {
  return async (signal) => {
    const end = resultsMadeBefore(clock.nowMs() - RESULT_LIFE_MS - GRACE_MS)
    let removed = 0
    for await (const object of store.list(RESULTS)) {
      if (signal.aborted || object.key >= end) return 'idle'
      // Any gateway's result has ended by then; an object that only has the same prefix has not.
      if (!isClaimed && resultHourMs(object.key) === undefined) continue
      if (removed === limit) return 'more'
      await remove('results', object)
      removed += 1
    }
    return 'idle'
  }
}

/** Checks all objects, a number per round, and then starts again. */
function purgeUnneeded(
  { store, clock, isClaimed, limit, remove }: PurgedPlace,
  { prefix, needed, ended }: Referenced,
): PurgeRound {
  const idOf = ({ key }: ListedObject): string => key.slice(prefix.length).split('/', 1)[0] ?? ''
  const goneOf = async (ids: readonly string[]): Promise<ReadonlySet<string>> => {
    if (ids.length === 0) return new Set()
    if (!isClaimed) return ended(ids)
    const keep = await needed(ids)
    return new Set(ids.filter((id) => !keep.has(id)))
  }
  let after: string | undefined
  return async (signal) => {
    const before = clock.nowMs() - GRACE_MS
    const page: ListedObject[] = []
    for await (const object of store.list(prefix, after)) {
      page.push(object)
      if (page.length === limit) break
    }
    const old = page.filter(({ modifiedAtMs }) => modifiedAtMs < before)
    const gone = await goneOf(old.map(idOf))
    for (const object of old) {
      if (signal.aborted) return 'idle'
      if (gone.has(idOf(object))) await remove(prefix.slice(0, -1), object)
    }
    after = page.length === limit ? page.at(-1)?.key : undefined
    return after === undefined ? 'idle' : 'more'
  }
}

/** Purges in the background until stopped. */
export function startPurge(deps: PurgeDeps): { readonly stop: () => Promise<void> } {
  const stopping = new AbortController()
  const round = createPurgeRound(deps)
  const done = runLoop(deps, { name: 'purge', idleMs: IDLE_MS, round }, stopping.signal)
  return {
    stop: () => {
      stopping.abort()
      return done
    },
  }
}
