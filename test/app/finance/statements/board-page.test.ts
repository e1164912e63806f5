import t from 'tap'
import { blockerCodes, type BoardRow } from '../../../../src/app/finance/statements/types.ts'
import { shell, startClosingWorld } from './support/closing-world.ts'

/** A page of a board is a cut of the whole board, and counts all of it. */

const world = await startClosingWorld(t)
const { statements } = world
const MONTH = '2026-01'

const zones = ['Asia/Shanghai', 'America/Los_Angeles', 'UTC'] as const
for (const [n, timeZone] of zones.entries()) {
  await world.tenant(`plain_${n}`, { timeZone })
  for (const currency of ['CNY', 'USD'] as const) await world.grant(`plain_${n}`, currency, '10')
}
await world.tenantWithoutBilling('unbilled')
await world.grant('unbilled', 'USD', '5')
for (const name of ['waiting_a', 'waiting_b']) {
  await world.tenant(name)
  await world.grant(name, 'USD', '5')
}
// It is opened in different months of these zones.
world.clock.set('2026-01-31T20:00:00Z')
for (const [n, timeZone] of zones.entries()) {
  await world.tenant(`late_${n}`, { timeZone, graceHours: 0 })
  await world.grant(`late_${n}`, 'USD', '3')
}
world.clock.set('2026-02-10T00:00:00Z')
for (const name of ['waiting_a', 'waiting_b']) await world.propose(name, 'USD', '7')
await world.settle()
const close = (tenantId: string) =>
  statements.close({ tenantId, currency: 'CNY', month: MONTH }, shell)
await close('plain_0')
await close('plain_1')
await world.settle()

const partOf = (row: BoardRow): string => {
  if (row.status === 'closed') return 'closed'
  return row.blockers.length === 0 ? 'ready' : 'blocked'
}
const order = ['blocked', 'ready', 'closed']

for (const [month, title] of [
  [MONTH, 'a month that is over'],
  ['2026-02', 'the month that runs'],
  ['2025-12', 'a month before all of them'],
] as const)
  t.test(`the pages of ${title} are the whole board, in order and by part`, async (t) => {
    const board = await statements.board({ month, tenantIds: undefined })
    const sorted = order.flatMap((part) => board.filter((row) => partOf(row) === part))
    for (const show of [undefined, 'blocked', 'ready', 'closed', ...blockerCodes] as const) {
      const wanted = sorted.filter(
        (row) =>
          show === undefined ||
          partOf(row) === show ||
          (row.status === 'open' && row.blockers.some(({ code }) => code === show)),
      )
      const rows: BoardRow[] = []
      for (let skip = 0; skip <= wanted.length; skip += 4) {
        const page = await statements.boardPage({
          month,
          tenantIds: undefined,
          show,
          skip,
          limit: 4,
        })
        rows.push(...page.rows)
        t.equal(page.shown, wanted.length, show ?? 'all')
        for (const part of ['blocked', 'ready', 'closed'] as const)
          t.equal(page.counts[part], board.filter((row) => partOf(row) === part).length)
      }
      t.strictSame(rows, wanted, show ?? 'all')
    }
  })

t.test('the counts name each blocker once a row, and a page has one tenant alone', async (t) => {
  const { counts } = await statements.boardPage({
    month: MONTH,
    tenantIds: undefined,
    show: undefined,
    skip: 0,
    limit: 1,
  })
  t.strictSame(counts.blockers, [
    { code: 'proposals_open', rows: 2 },
    { code: 'profile_missing', rows: 1 },
  ])
  const own = { month: MONTH, tenantIds: ['plain_0'], show: undefined, skip: 0, limit: 10 }
  t.match(await statements.boardPage(own), {
    shown: 2,
    counts: { ready: 1, closed: 1, blocked: 0 },
    rows: [{ currency: 'USD' }, { currency: 'CNY' }],
  })
})
