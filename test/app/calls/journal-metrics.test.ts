import { Registry } from 'prom-client'
import t from 'tap'
import { backlogAt, useBacklogMetrics, useSetAsideMetrics } from '../../../src/app/calls/metrics.ts'
import type { SpoolState } from '../../../src/eventlog/journal/spool.ts'

const empty: SpoolState = {
  batches: 0,
  records: 0,
  sizeBytes: 0,
  maxBytes: 1_000,
  oldestAtMs: undefined,
}

function metricsOf(state: () => SpoolState, nowMs: () => number = () => 0) {
  const registry = new Registry()
  useBacklogMetrics(registry, () => backlogAt(state(), nowMs()))
  const valueOf = async (name: string): Promise<number | undefined> =>
    (await registry.getSingleMetric(name)?.get())?.values[0]?.value
  return { registry, valueOf }
}

void t.test('a scrape shows how many records wait in the spool, and how long', async (t) => {
  let state = empty
  const { valueOf } = metricsOf(
    () => state,
    () => 62_500,
  )
  t.equal(await valueOf('tollgate_spool_oldest_seconds'), 0)
  state = { ...empty, batches: 2, records: 31, sizeBytes: 900, oldestAtMs: 60_000 }
  t.equal(await valueOf('tollgate_spool_batches'), 2)
  t.equal(await valueOf('tollgate_spool_records'), 31)
  t.equal(await valueOf('tollgate_spool_bytes'), 900)
  t.equal(await valueOf('tollgate_spool_limit_bytes'), 1_000)
  t.equal(await valueOf('tollgate_spool_oldest_seconds'), 2.5)
})

void t.test('a clock that was set back gives no negative age', async (t) => {
  const { valueOf } = metricsOf(() => ({ ...empty, batches: 1, oldestAtMs: 5_000 }))
  t.equal(await valueOf('tollgate_spool_oldest_seconds'), 0)
})

void t.test('a scrape counts records that wait for an operator, or NaN on failure', async (t) => {
  const registry = new Registry()
  let count = async () => Promise.resolve({ refused: 3, damaged: 2 })
  useSetAsideMetrics(registry, async () => count())
  t.match(await registry.metrics(), /^tollgate_spool_refused_records 3$/m)
  t.match(await registry.metrics(), /^tollgate_spool_damaged_records 2$/m)
  count = async () => Promise.reject(new Error('the disk is away'))
  t.match(await registry.metrics(), /^tollgate_spool_refused_records Nan$/im)
})
