import t from 'tap'
import { countOpenMonths } from '../../../../src/app/finance/statements/open-months.ts'
import { shell, startClosingWorld } from './support/closing-world.ts'

const world = await startClosingWorld(t)
const { clock, pool, statements } = world

const openAt = async (time: string) => {
  await world.settle()
  const { '1': one, '2': two, '3+': more } = await countOpenMonths(pool, Date.parse(time))
  return [one, two, more]
}

t.test('open months are counted by how long ago they ended, account by account', async (t) => {
  clock.set('2026-01-10T00:00:00Z')
  t.same(await openAt('2027-01-01T00:00:00Z'), [0, 0, 0], 'no tenant')
  await world.tenant('both')
  for (const currency of ['CNY', 'USD'] as const) await world.grant('both', currency, '10')
  await world.tenantWithoutBilling('unbilled')
  await world.grant('unbilled', 'CNY', '10')
  t.same(await openAt('2026-01-31T15:59:59Z'), [0, 0, 0], 'the month runs in Shanghai')
  t.same(await openAt('2026-01-31T16:00:00Z'), [2, 0, 0], 'it is over')
  t.same(await openAt('2026-03-10T00:00:00Z'), [2, 2, 0])
  t.same(await openAt('2027-02-10T00:00:00Z'), [2, 2, 22], 'across the year')

  clock.set('2026-03-10T00:00:00Z')
  const january = { tenantId: 'both', currency: 'CNY', month: '2026-01' } as const
  await statements.close(january, shell)
  t.same(await openAt('2026-03-10T00:00:00Z'), [2, 1, 0], 'January is closed in one currency')
  await world.voidLast('both', 'CNY', '2026-01')
  t.same(await openAt('2026-03-10T00:00:00Z'), [2, 2, 0], 'and open again once it is voided')
})
