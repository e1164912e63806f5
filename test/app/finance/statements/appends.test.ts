import t, { type Test } from 'tap'
import { buildTree } from '../../../../src/app/finance/statements/tree.ts'
import type { ClosedPeriod, MonthOf } from '../../../../src/app/finance/statements/types.ts'
import type { Currency } from '../../../../src/kernel/money.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { type AppendFault, appendFaults, faultyLog } from '../../../eventlog/support/faulty-log.ts'
import { shell, startClosingWorld } from './support/closing-world.ts'
import { createHandedOut } from './support/handed-out.ts'
import { postingsText } from './support/postings-text.ts'

/** What may happen between the signature of a close and the answer to its append. */

const world = await startClosingWorld(t, { storeProcess: true })
const { clock, statements } = world
const handedOut = createHandedOut(t, world)
const SIGNED = '2026-02-05T00:00:00Z'

async function opened(tenantId: string) {
  clock.set('2026-01-10T00:00:00Z')
  await world.tenant(tenantId)
  await world.grant(tenantId, 'CNY', '100')
  await world.grant(tenantId, 'USD', '7')
  await world.call({ tenantId, currency: 'CNY', atMs: Date.parse('2026-01-20T00:00:00Z') })
  clock.set(SIGNED)
  return { tenantId, currency: 'CNY', month: '2026-01' } as const
}

/** Asks until there is an answer, a second later each time; the log has then been asked for all it will be. */
async function closedAtLast(log: typeof world.log, of: MonthOf): Promise<ClosedPeriod> {
  const closing = world.statementsWith({ log })
  return eventually('the close', async () => {
    clock.set(clock.nowMs() + 1_000)
    try {
      return (await closing.close(of, shell)).period
    } catch (error) {
      const isUnanswered = (['log_outcome_unknown', 'log_unavailable'] as const).some((code) =>
        isDomainError(error, code),
      )
      if (!isUnanswered) throw error
      return undefined
    }
  })
}

/** One close of the month stands, which is what every reader gets, and both verifiers take. */
async function checkClose(t: Test, period: ClosedPeriod): Promise<void> {
  const { tenantId, currency, month } = period
  const events = await world.log.readStream(`statements-${tenantId}`)
  const closes = events.flatMap(({ type, data }) => (type === 'PeriodClosed' ? [data] : []))
  const ours = closes.filter((data) => data.currency === currency && data.month === month)
  t.same(ours, [period], 'the answer is the only event')
  const numbers = closes.map(({ statement }) => statement)
  t.same(
    numbers,
    numbers.map((_, n) => `ACME-000${n + 1}`),
    'no number is used twice or left out',
  )
  await world.settle()
  const leaves = (await postingsText(statements, period)).split('\n').slice(0, -1)
  // Where the event is another closer's than the one that stored the tree, the tree is built again.
  const files = await eventually('the files', () =>
    handedOut.filesOf(period, leaves).catch((error: unknown) => {
      if (!isDomainError(error, 'read_model_behind')) throw error
      return undefined
    }),
  )
  t.match(JSON.parse(String(files.statement)), { proof: { checkpoint: period.checkpoint } })
  t.same(handedOut.verdicts(files), [undefined, true])
}

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
