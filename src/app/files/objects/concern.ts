import { Gauge, type Registry } from 'prom-client'
import type { NamespacedObjects } from '../../../storage/namespaced-objects.ts'
import { type Clock, monotonicClock } from '../../../kernel/clock.ts'
import { memoizeFor } from '../../../platform/memoize.ts'
import { withTimeout } from '../../../kernel/pause.ts'

/** The store is asked again after this, however often readiness and metrics are read. */
const ASKED_EVERY_MS = 10_000
/** A store that takes longer counts as away; readiness gives up a check shortly after. */
const TIMEOUT_MS = 1_500

/**
 * Reports an object store that does not answer, for the readiness report and as a metric. The
 * replica stays ready: calls that keep no media need no store.
 */
export function objectsConcern(
  objects: Pick<NamespacedObjects, 'marker'>,
  registry: Registry,
  clock: Clock = monotonicClock,
): { readonly name: 'objects'; readonly look: () => Promise<readonly string[]> } {
  const isUp = memoizeFor(
    ASKED_EVERY_MS,
    async () => {
      const answer = objects.marker().then(
        () => true,
        () => false,
      )
      return withTimeout(TIMEOUT_MS, answer, () => false)
    },
    clock,
  )
  const gauge: Gauge = new Gauge({
    name: 'tollgate_object_store_up',
    help: '1 while the object storage answers; without object storage there is no such metric.',
    registers: [registry],
    collect: async () => gauge.set((await isUp()) ? 1 : 0),
  })
  const look = async () =>
    (await isUp())
      ? []
      : ['the object storage does not answer: what keeps or reads media fails with 503']
  return { name: 'objects', look }
}
