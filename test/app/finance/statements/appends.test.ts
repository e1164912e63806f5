import t from 'tap'
import { buildTree } from '../../../../src/app/finance/statements/tree.ts'
import type { ClosedPeriod } from '../../../../src/app/finance/statements/types.ts'
import type { Currency } from '../../../../src/kernel/money.ts'
import { startEventStore } from '../../../helpers/eventstore.ts'
import { type AppendFault, appendFaults, faultyLog } from '../../../eventlog/support/faulty-log.ts'
import { shell, startClosingWorld } from './support/closing-world.ts'
import { createFaultyCloses } from './support/faulty-closes.ts'

/** What may happen between the signature of a close and the answer to its append. */

const world = await startClosingWorld(t, await startEventStore())
const { clock, statements } = world
const { opened, closedAtLast, checkClose } = createFaultyCloses(t, world)

/** Faults of the first appends; a rival closes a month of this currency. */
const histories: readonly (readonly [rival: Currency, ...faults: readonly AppendFault[]])[] = [
  ...appendFaults.map((fault) => ['CNY', fault] as const),
  ['CNY', 'late', 'unavailable', 'lose-ack'],
  ['CNY', 'late', 'late', 'duplicate'],
  ['CNY', 'late', 'rival'],
  ['USD', 'rival'],
  ['USD', 'unavailable', 'rival'],
  ['USD', 'late', 'rival'],
]

for (const [rival, ...faults] of histories)
  t.test(
    `one close stands after ${faults.join(', ')}${faults.includes('rival') ? ` in ${rival}` : ''}`,
    async (t) => {
      const of = await opened(`tenant_${faults.join('_')}_${rival}`)
      const { log, settled } = faultyLog(world.log, faults, async () => {
        clock.set(clock.nowMs() + 60_000)
        await world.statementsWith({}).close({ ...of, currency: rival }, shell)
      })
      const period = await closedAtLast(log, of)
      await settled()
      await checkClose(t, period)
      const again = await statements.close(of, shell)
      t.same(again, { period, created: false })
      await statements.close({ ...of, currency: 'USD' }, shell)
      clock.set('2026-03-05T00:00:00Z')
      const next = await statements.close({ ...of, month: '2026-02' }, shell)
      t.match(next.period, { statement: 'ACME-0003', previous: { n: 1, root: period.root } })
      await checkClose(t, next.period)
    },
  )

t.test(
  'a close that signed other postings than the one that stands answers with that one',
  async (t) => {
    const of = await opened('tenant_other_postings')
    const { tenantId } = of
    let first: ClosedPeriod | undefined
    const second = world.statementsWith({
      buildTree: async (job) => {
        const tree = await buildTree(world.pool, job)
        if (first !== undefined) return tree
        await world.call({ tenantId, currency: 'CNY', atMs: Date.parse('2026-01-21T00:00:00Z') })
        first = (await world.statementsWith({}).close(of, { ...shell, correlationId: 'first' }))
          .period
        return tree
      },
    })
    const closed = await second.close(of, { ...shell, correlationId: 'second' })
    t.same(closed, { period: first, created: false })
    t.equal(closed.period.lines, 2)
    await checkClose(t, closed.period)
  },
)

t.test('one close stands where the log dies before or amid its append', async (t) => {
  const { store } = world
  for (const moment of ['before', 'amid']) {
    const of = await opened(`tenant_log_dies_${moment}`)
    await world.settle()
    const append: typeof world.log.append = async (stream, events, expected) => {
      if (moment === 'before') await store.kill9()
      const [appended] = await Promise.allSettled([
        world.log.append(stream, events, expected, { deadlineMs: 1_000 }),
        moment === 'amid' ? store.kill9() : undefined,
      ])
      if (appended.status === 'rejected') throw appended.reason
      return appended.value
    }
    const closer = world.statementsWith({ log: { ...world.log, append } })
    const asked = await closer.close(of, shell).catch((error: unknown) => error)
    t.comment(moment, asked instanceof Error ? asked.message : 'answered')
    await store.restart()
    await checkClose(t, await closedAtLast(world.log, of))
  }
})
