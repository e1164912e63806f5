import t from 'tap'
import { MAX_REFUNDED_STATEMENTS } from '../../../../src/domain/statement/events.ts'
import { formatAmount, parseAmount } from '../../../../src/kernel/money.ts'
import { shell, startClosingWorld } from './support/closing-world.ts'
import { createHandedOut } from './support/handed-out.ts'
import { postingsText } from './support/postings-text.ts'

const world = await startClosingWorld(t)
const { statements, clock } = world
const handedOut = createHandedOut(t, world)

t.test('refunds of more statements than a close names have a row for the oldest', async (t) => {
  const [tenantId, currency] = ['tenant_old', 'CNY'] as const
  const months = Array.from({ length: MAX_REFUNDED_STATEMENTS + 3 }, (_, n) => {
    return new Date(Date.UTC(2005, n, 10)).toISOString()
  })
  clock.set(months[0] ?? 0)
  await world.tenant(tenantId)
  const lines: string[] = []
  for (const at of months) {
    const [line = ''] = await world.call({ tenantId, currency, atMs: Date.parse(at) })
    lines.push(line)
  }
  clock.set('2026-01-20T00:00:00Z')
  const account = { tenantId, currency }
  const last = months.at(-1)?.slice(0, 7) ?? ''
  const closed: string[] = []
  for await (const { statement } of statements.closeUntil({ ...account, until: last }, shell))
    closed.push(statement)
  t.equal(closed.length, months.length)

  const open = new Date(Date.UTC(2005, months.length, 10)).toISOString()
  const [late = ''] = await world.call({ ...account, atMs: Date.parse(open) })
  await world.settle()
  clock.set(open)
  for (const [n, line] of [...lines, late].entries())
    await world.refund(
      tenantId,
      currency,
      line,
      formatAmount(parseAmount('0.000001') * BigInt(n + 1)),
    )
  clock.set('2026-01-20T00:00:00Z')
  await world.settle()
  const month = { ...account, month: open.slice(0, 7) }
  const { period } = await statements.close(month, shell)
  await world.settle()

  t.equal(period.refunds.length, MAX_REFUNDED_STATEMENTS)
  const named = period.refunds.slice(0, -1)
  t.same(
    named.map(({ statement }) => statement),
    closed.slice(-(MAX_REFUNDED_STATEMENTS - 1)),
    'the latest are named',
  )
  const rest = period.refunds.at(-1)
  // Those of the four oldest statements, and that of a line of the month itself.
  const restMillionths = 1 + 2 + 3 + 4 + lines.length + 1
  const amount = formatAmount(parseAmount('0.000001') * BigInt(restMillionths))
  t.same(rest, { statement: null, amount, postings: 5 })
  const sumPico = period.refunds.reduce((sum, row) => sum + parseAmount(row.amount), 0n)
  t.equal(formatAmount(sumPico), period.adjusted.usage)
  t.equal(
    period.refunds.reduce((sum, { postings }) => sum + postings, 0),
    lines.length + 1,
  )
  const leaves = (await postingsText(statements, month)).split('\n').slice(0, -1)
  const files = await handedOut.filesOf(period, leaves)
  t.same(handedOut.verdicts(files), [undefined, true])
})
