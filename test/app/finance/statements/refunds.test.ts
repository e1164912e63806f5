import t from 'tap'
import { MAX_REFUNDED_STATEMENTS } from '../../../../src/domain/statement/events.ts'
import type { ClosedPeriod } from '../../../../src/app/finance/statements/types.ts'
import { formatAmount, parseAmount } from '../../../../src/kernel/money.ts'
import { shell, startClosingWorld } from './support/closing-world.ts'
import { createHandedOut } from './support/handed-out.ts'
import { postingsText } from './support/postings-text.ts'

const world = await startClosingWorld(t)
const { statements, clock } = world
const handedOut = createHandedOut(t, world)

/** The 10th of the month that is so many months after January of 2005. */
const dayOf = (n: number): string => new Date(Date.UTC(2005, n, 10)).toISOString()
const STEP_PICO = parseAmount('0.000001')
const CNY = 'CNY'

t.test('refunds of more statements than a close names have a row for the oldest', async (t) => {
  const tenantId = 'tenant_old'
  const account = { tenantId, currency: CNY } as const
  const count = MAX_REFUNDED_STATEMENTS + 3
  clock.set(dayOf(0))
  await world.tenant(tenantId)
  const lines: string[] = []
  for (let n = 0; n < count; n += 1)
    lines.push(...(await world.call({ ...account, atMs: Date.parse(dayOf(n)) })))
  const closeUntil = async (n: number) => {
    clock.set('2026-01-20T00:00:00Z')
    await world.settle()
    const closed: ClosedPeriod[] = []
    for await (const period of statements.closeUntil(
      { ...account, until: dayOf(n).slice(0, 7) },
      shell,
    ))
      closed.push(period)
    await world.settle()
    return closed
  }
  const closed = await closeUntil(count - 1)
  t.equal(closed.length, count)
  const numbers = closed.map(({ statement }) => statement)
  const refund = async (n: number, lineIds: readonly string[]) => {
    clock.set(dayOf(n))
    for (const [index, lineId] of lineIds.entries())
      await world.refund(tenantId, CNY, lineId, formatAmount(STEP_PICO * BigInt(index + 1)))
  }

  await refund(count, lines.slice(-MAX_REFUNDED_STATEMENTS))
  const [asMany] = await closeUntil(count)
  t.same(
    asMany?.refunds.map(({ statement }) => statement),
    numbers.slice(-MAX_REFUNDED_STATEMENTS),
    'as many as a close names are all named',
  )

  const ofOpenMonth = await world.call({ ...account, atMs: Date.parse(dayOf(count + 1)) })
  await world.settle()
  await refund(count + 1, [...lines, ...ofOpenMonth])
  const [period] = await closeUntil(count + 1)
  if (period === undefined) return t.fail('the month is not closed')
  const { refunds, adjusted } = period
  t.same(
    refunds.map(({ statement }) => statement),
    [...numbers.slice(-(MAX_REFUNDED_STATEMENTS - 1)), null],
    'the latest are named',
  )
  // The four oldest statements, and a line that no statement has yet.
  const restPico = STEP_PICO * BigInt(1 + 2 + 3 + 4 + count + 1)
  t.same(refunds.at(-1), { statement: null, amount: formatAmount(restPico), postings: 5 })
  const sumPico = refunds.reduce((sum, { amount }) => sum + parseAmount(amount), 0n)
  t.equal(formatAmount(sumPico), adjusted.usage)
  t.equal(
    refunds.reduce((sum, { postings }) => sum + postings, 0),
    count + 1,
  )
  const leaves = (await postingsText(statements, period)).split('\n').slice(0, -1)
  const files = await handedOut.filesOf(period, leaves)
  t.same(handedOut.verdicts(files), [undefined, true])
})
