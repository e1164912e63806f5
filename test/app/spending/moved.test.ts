import * as fc from 'fast-check'
import t from 'tap'
import { createReplicaGauges } from '../../../src/app/spending/replica-gauges.ts'
import { closeSilentReplicas, reportSpending } from '../../../src/app/spending/replica-reports.ts'
import type { Reservation } from '../../../src/app/spending/reservation.ts'
import { readSpendable } from '../../../src/app/spending/spendable.ts'
import { formatAmount } from '../../../src/kernel/money.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { startBook } from '../calls/support/book.ts'

const book = await startBook(t)
const { pool, project } = book

const CREDIT = 1_000n
let runs = 0
/** Of the last event of the log, which the ledger has. */
let end = 0n

type Kind = (typeof KINDS)[number]
const KINDS = [
  'exchange',
  'exchange',
  'settled here',
  'granted',
  'limit set',
  'other event',
  'task admitted',
  'task noted',
  'task withdrawn',
  'held elsewhere',
  'settled elsewhere',
  'died elsewhere',
  'read alone',
  'tables replaced',
] as const

const steps = fc.array(fc.tuple(fc.constantFrom<Kind[]>(...KINDS), fc.nat(2), fc.nat(20)), {
  minLength: 5,
  maxLength: 40,
})

/** A replica that knows the balances of three tenants, and all that changes them from elsewhere. */
function startWorld() {
  runs += 1
  const replica = `here-${runs}`
  let nowMs = 0
  const clock = { nowMs: () => nowMs }
  const gauges = createReplicaGauges({ db: pool, replica, clock })
  let readNames = 0
  const balances = gauges.ofKind<void>({
    report: reportSpending,
    read: (db, some, except) => {
      readNames += some.length
      return readSpendable(
        db,
        some.map(({ name }) => name),
        except,
      )
    },
    maxKnown: 10,
    maxExchanged: 10,
    isOfBalances: true,
  })
  const names = [0, 1, 2].map((n) => `moved-${runs}-${n}`)
  const used = names.map((name) => balances.of(name))
  const turns = new Map<string, number>()
  const reportElsewhere = async (name: string, held: bigint, settled: bigint, position: bigint) => {
    const turn = (turns.get(name) ?? 0) + 1
    turns.set(name, turn)
    const row = { name, unit: 'USD' as const, held, settled, position, spool: undefined }
    await reportSpending(pool, { replica: `there-${runs}`, turn }, [row])
  }
  return {
    names,
    used,
    reportElsewhere,
    readAlone: (n: number) => balances.reportAndRead([used[n]!]),
    /** How many names were read one by one or together. */
    exchange: async (inUse = used): Promise<number> => {
      nowMs += 1_000
      for (const gauge of inUse) await gauge.use(() => Promise.resolve())
      readNames = 0
      await gauges.exchange()
      return readNames
    },
    /** What the replica knows of each name, and what stands there. */
    known: () => used.map((gauge) => gauge.available('USD') + gauge.own('USD')),
    there: async () => {
      const read = await readSpendable(pool, names, replica)
      return names.map((name) => read.get(name)?.available.get('USD') ?? 0n)
    },
  }
}

/** The ledger has one more event, which changes a balance of the tenant, or none. */
async function ledgerTakes(name: string | undefined, change: string, amount: bigint) {
  end += 1n
  await pool.query(
    `with changed as (
       update ledger.balances set ${change}, position = $1 where tenant_id = $2 and $3::numeric is not null)
     update engine.checkpoints set commit = $1, prepare = $1 where name = 'ledger'`,
    [end, name, formatAmount(amount)],
  )
}

t.test(
  'for any changes of balances, what an exchange keeps is what a reading would have',
  async (t) => {
    let [kept, read] = [0, 0]
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const world = startWorld()
        for (const tenantId of world.names)
          await project({ tenantId, creditPico: CREDIT, position: end })
        const tasks: string[] = []
        for (const [index, [kind, which, number]] of [
          ...all,
          ['exchange', 0, 0] as const,
          ['exchange', 0, 0] as const,
        ].entries()) {
          const name = world.names[which]!
          const pico = BigInt(number)
          switch (kind) {
            case 'exchange': {
              const some = await world.exchange()
              read += some
              kept += world.names.length - some
              const there = await world.there()
              const [known, standing] = [world.known().join(), there.join()]
              if (known !== standing) throw new Error(`known: ${known}; in the tables: ${standing}`)
              break
            }
            case 'settled here': {
              const hold: Reservation = world.used[which]!.place('USD', pico)
              // The ledger is quicker than the answer of the log now and then.
              if (number % 2 === 0) hold.commit({ amountPico: pico, tokens: 0, position: end + 1n })
              await ledgerTakes(name, 'settled = settled + $3', pico)
              hold.commit({ amountPico: pico, tokens: 0, position: end })
              break
            }
            case 'granted':
              await ledgerTakes(name, 'granted = granted + $3', pico)
              break
            case 'limit set':
              await ledgerTakes(name, 'credit_limit = $3', pico)
              break
            case 'other event':
              await ledgerTakes(undefined, 'held = held', 0n)
              break
            case 'task admitted': {
              const task = `task-${runs}-${index}`
              tasks.push(task)
              await pool.query(
                `insert into ops.admissions (platform_id, tenant_id, currency, hold) values ($1, $2, 'USD', $3)`,
                [task, name, formatAmount(pico)],
              )
              break
            }
            case 'task noted':
              await pool.query('update ops.admissions set position = $2 where platform_id = $1', [
                tasks[which],
                end + BigInt(number % 2),
              ])
              break
            case 'task withdrawn':
              await pool.query('delete from ops.admissions where platform_id = $1', [tasks.pop()])
              break
            case 'held elsewhere':
              await world.reportElsewhere(name, pico, 0n, 0n)
              break
            case 'settled elsewhere':
              await world.reportElsewhere(name, 0n, pico, end + BigInt(number % 3) - 1n)
              break
            case 'died elsewhere':
              await pool.query(
                `update ops.text_spending set told_at = told_at - interval '1 hour' where tenant_id = $1`,
                [name],
              )
              await closeSilentReplicas(pool, end, () => Promise.resolve(end))
              break
            case 'read alone':
              await world.readAlone(which)
              break
            case 'tables replaced':
              // A rebuild that found other figures at the same positions.
              await pool.query(`begin; create table ledger.other (like ledger.balances including all);
                insert into ledger.other select * from ledger.balances;
                update ledger.other set granted = granted + 1;
                drop table ledger.balances; alter table ledger.other rename to balances; commit`)
          }
        }
        await pool.query('delete from ops.admissions; delete from ops.text_spending')
      }),
      { numRuns: propertyRuns(40) },
    )
    t.ok(kept > 0, 'some are kept')
    t.ok(read > 0, 'some are read')
    t.comment(`${kept} kept, ${read} read`)
  },
)

t.test('where nothing moved an exchange reads no balance', async (t) => {
  const world = startWorld()
  for (const tenantId of world.names) await project({ tenantId, creditPico: CREDIT, position: end })
  t.equal(await world.exchange(), 3, 'nothing is known yet')
  t.equal(await world.exchange(), 0)
  await ledgerTakes(world.names[1], 'granted = granted + $3', 5n)
  t.equal(await world.exchange(), 1)
  t.equal(await world.exchange(), 0)
  await world.reportElsewhere(world.names[2]!, 7n, 0n, 0n)
  for (const _round of [1, 2]) t.equal(await world.exchange(), 1, 'another replica holds')
  await world.reportElsewhere(world.names[2]!, 0n, 0n, 0n)
  t.equal(await world.exchange(), 1, 'it holds no more')
  t.equal(await world.exchange(), 0)
})

t.test('a balance that moved while it was not in use is read before it counts again', async (t) => {
  const world = startWorld()
  const [rested, ...inUse] = world.used
  for (const tenantId of world.names) await project({ tenantId, creditPico: CREDIT, position: end })
  for (let round = 0; round < 12; round += 1) await world.exchange(round === 0 ? undefined : inUse)
  t.equal(rested?.ageMs(), 0, 'it is kept while nothing moves')
  await ledgerTakes(world.names[0], 'settled = settled + $3', 5n)
  for (const _round of [1, 2, 3]) t.equal(await world.exchange(inUse), 0)
  t.equal(rested?.ageMs(), 3_000)
  await world.exchange()
  t.same(world.known(), await world.there())
})
