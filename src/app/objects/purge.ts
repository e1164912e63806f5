import type { Pool } from 'pg'
import { Counter, type Registry } from 'prom-client'
import { tryLead } from '../../../projections/engine/leadership.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import { RESULT_LIFE_MS, RESULTS, resultsMadeBefore } from '../../storage/object-key.ts'
import type { ListedObject, ObjectStore } from '../../storage/types.ts'
import { type PolicyDeps, runLoop } from '../policy-loop.ts'
import { type Referenced, referencedFiles, referencedPayloads } from './referenced.ts'

/** Removes objects that nobody can ask for any more. What is gone stays gone, so any round may end early. */

/** Beyond its life a result stays for a download that began in time; others get this to be told of. */
const GRACE_MS = 3_600_000
/** How many objects a round removes of results, and looks at of the others. */
const ROUND_OBJECTS = 1_000
const IDLE_MS = 300_000

export interface PurgeDeps extends PolicyDeps {
  readonly pool: Pool
  readonly log: EventLog
  readonly clock: Clock
  readonly store: ObjectStore
  readonly registry: Registry
}

export type PurgeRound = (signal: AbortSignal) => Promise<'more' | 'idle'>

/** One round by whoever leads: of all processes that share the store, one at a time. */
export function createPurgeRound(
  deps: PurgeDeps,
  roundObjects: number = ROUND_OBJECTS,
): PurgeRound {
  const { pool, log, store } = deps
  const purged = new Counter({
    name: 'tollgate_objects_purged_total',
    help: 'Objects removed because nobody can ask for them any more.',
    labelNames: ['purpose'],
    registers: [deps.registry],
  })
  const remove = async (purpose: string, object: ListedObject): Promise<void> => {
    await store.remove(object.key)
    purged.inc({ purpose })
  }
  const purges = [
    purgeResults(deps, remove, roundObjects),
    ...[referencedPayloads(pool, log), referencedFiles(pool, log)].map((kind) =>
      purgeUnneeded(deps, kind, remove, roundObjects),
    ),
  ]
  return async (stopping) => {
    const lead = await tryLead(pool, `purge ${store.name}`)
    if (lead === undefined) return 'idle'
    const signal = AbortSignal.any([stopping, lead.lost])
    try {
      let outcome: 'more' | 'idle' = 'idle'
      for (const purge of purges) if ((await purge(signal)) === 'more') outcome = 'more'
      return signal.aborted ? 'idle' : outcome
    } finally {
      await lead.release()
    }
  }
}

type Remove = (purpose: string, object: ListedObject) => Promise<void>

/** Results stand in the order they were made in: the first that is young enough ends it. */
function purgeResults({ store, clock }: PurgeDeps, remove: Remove, limit: number): PurgeRound {
  return async (signal) => {
    const end = resultsMadeBefore(clock.nowMs() - RESULT_LIFE_MS - GRACE_MS)
    let removed = 0
    for await (const object of store.list(RESULTS)) {
      if (signal.aborted || object.key >= end) return 'idle'
      if (removed === limit) return 'more'
      await remove('results', object)
      removed += 1
    }
    return 'idle'
  }
}

/** Goes through all there are, so many a round, and then begins again. */
function purgeUnneeded(
  { store, clock }: PurgeDeps,
  { prefix, needed }: Referenced,
  remove: Remove,
  limit: number,
): PurgeRound {
  const idOf = ({ key }: ListedObject): string => key.slice(prefix.length).split('/', 1)[0] ?? ''
  let after: string | undefined
  return async (signal) => {
    const before = clock.nowMs() - GRACE_MS
    const page: ListedObject[] = []
    for await (const object of store.list(prefix, after)) {
      page.push(object)
      if (page.length === limit) break
    }
    const old = page.filter(({ modifiedAtMs }) => modifiedAtMs < before)
    const keep = old.length === 0 ? new Set() : await needed(old.map(idOf))
    for (const object of old) {
      if (signal.aborted) return 'idle'
      if (!keep.has(idOf(object))) await remove(prefix.slice(0, -1), object)
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
