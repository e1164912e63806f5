import t from 'tap'
import { createAdmissions } from '../../../src/app/spending/admission.ts'
import { LedgerFloor } from '../../../src/app/spending/ledger-floor.ts'
import { watchLedger } from '../../../src/app/spending/ledger-lag.ts'
import { formatAmount } from '../../../src/kernel/money.ts'
import { startBook } from '../calls/support/book.ts'

/**
 * A crash of Postgres, or a failover, takes the ledger back: by what each replica remembers, both may
 * spend one balance.
 */

const book = await startBook(t)
const { pool, project } = book
const broke = { code: 'insufficient_balance' }
const behind = { code: 'read_model_behind' }
let tenants = 0
let position = 100n

/** A tenant whose ledger two replicas have read at a position. */
async function twoReplicas(creditPico: bigint) {
  const tenantId = `tenant-${(tenants += 1)}`
  const at = (position += 100n)
  await project({ tenantId, creditPico, position: at })
  const [one, two] = [book.replica(), book.replica()]
  for (const { funds } of [one, two])
    (await funds.reserve(tenantId, 'USD', 1n)).release('not_started')
  return { tenantId, at, one, two }
}

t.test('no two replicas spend one balance twice after the ledger went back', async (t) => {
  const { tenantId, at, one, two } = await twoReplicas(100n)
  await project({ tenantId, creditPico: 100n, position: at - 5n })
  one.pass(3_000)
  two.pass(3_000)
  const both = [one, two].map(({ funds }) => funds.reserve(tenantId, 'USD', 60n))
  await Promise.all(both.map((asked) => t.rejects(asked, behind)))
  await project({ tenantId, creditPico: 100n, position: at })
  const ends = await Promise.allSettled(
    [one, two].map(({ funds }) => funds.reserve(tenantId, 'USD', 60n)),
  )
  t.same(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
})

t.test('a ledger that stays back is trusted as it is after 30 s', async (t) => {
  const { tenantId, at, one } = await twoReplicas(1_000n)
  await project({ tenantId, creditPico: 50n, position: at - 5n })
  one.pass(3_000)
  await t.rejects(one.funds.reserve(tenantId, 'USD', 60n), behind)
  one.pass(30_000)
  await t.rejects(one.funds.reserve(tenantId, 'USD', 60n), broke)
  await one.funds.reserve(tenantId, 'USD', 50n)
})

t.test('503, not 402, for a tenant that a ledger that went back lacks', async (t) => {
  const { tenantId, at, one } = await twoReplicas(1_000n)
  await pool.query('delete from ledger.balances where tenant_id = $1', [tenantId])
  one.pass(3_000)
  await t.rejects(one.funds.reserve(tenantId, 'USD', 60n), behind)
  await project({ tenantId, creditPico: 1_000n, position: at })
  await one.funds.reserve(tenantId, 'USD', 60n)
})

t.test('a refresh that answers an older ledger does not renew a reading', async (t) => {
  const { tenantId, at, one } = await twoReplicas(1_000n)
  await project({ tenantId, creditPico: 1_000n, position: at - 5n })
  one.pass(600_000)
  await t.rejects(one.funds.reserve(tenantId, 'USD', 1n), behind, 'however small the hold is')
})

t.test('503 for tasks on a ledger that went back', async (t) => {
  const { tenantId, at } = await twoReplicas(100n)
  let nowMs = 0
  const floor = new LedgerFloor({ nowMs: () => nowMs })
  const admissions = createAdmissions(pool, floor)
  const lag = watchLedger(pool, { endPosition: () => Promise.resolve(at) }, floor)
  await lag.look()
  let tasks = 0
  const admit = async (pico: bigint): Promise<string> => {
    const platformId = `${tenantId}-${(tasks += 1)}`
    await admissions.admit({
      platformId,
      tenantId,
      tokenId: 'token',
      userId: 'user_1',
      taskLimits: [],
      currency: 'USD',
      hold: formatAmount(pico),
    })
    return platformId
  }
  await admissions.recorded(await admit(60n), at + 7n)
  // The standby that took over lacks the reservation and the last of the ledger.
  await pool.query('delete from ops.admissions where tenant_id = $1', [tenantId])
  await project({ tenantId, creditPico: 100n, position: at - 5n })
  await t.rejects(admit(60n), behind)
  await project({ tenantId, creditPico: 100n, position: at + 6n })
  await t.rejects(admit(60n), behind, 'the log has a hold that it lacks')
  await project({ tenantId, creditPico: 40n, position: at + 7n })
  await t.rejects(admit(60n), broke)
  await admit(40n)
  nowMs += 1
})

t.test('prices or tokens that stay behind count as a ledger that went back', async (t) => {
  await project({ tenantId: 'tenant-x', creditPico: 1n, position: 900_000n })
  const at = (name: string, position: bigint) =>
    pool.query('update engine.checkpoints set commit = $1, prepare = $1 where name = $2', [
      position,
      name,
    ])
  for (const name of ['ledger', 'prices', 'access']) {
    await at('prices', 900_000n)
    await at('access', 900_000n)
    await at('ledger', 900_000n)
    const seen = watchLedger(pool, { endPosition: () => Promise.resolve(900_000n) })
    await seen.look()
    t.not(seen.lagMs(), Infinity)
    await at(name, 899_999n)
    const lacking = watchLedger(pool, { endPosition: () => Promise.resolve(900_000n) })
    await lacking.look()
    t.equal(lacking.lagMs(), Infinity, name)
  }
})
