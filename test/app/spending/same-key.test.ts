import { silentLog } from '../../../src/kernel/log.ts'
import { deepStrictEqual } from 'node:assert'
import * as fc from 'fast-check'
import t from 'tap'
import { createAdmissions } from '../../../src/app/spending/admission.ts'
import { taskStream } from '../../../src/domain/task/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { createReservationSweep } from '../../../src/app/tasks/watch/reservations.ts'
import { formatAmount, parseAmount, type Currency } from '../../../src/kernel/money.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { startBook } from '../calls/support/book.ts'
import { codeOf } from '../support/world.ts'

/** Requests under one `Idempotency-Key` have one id, and the log takes one of them. */

const book = await startBook(t)
const { pool } = book
const CREDIT = 100n
let tenants = 0

/** A tenant with credit in both currencies, and two replicas that admit its tasks. */
async function tenantOf() {
  const tenantId = `tenant-${(tenants += 1)}`
  for (const currency of ['USD', 'CNY'] as const)
    await book.project({ tenantId, creditPico: CREDIT, currency })
  const replicas = [createAdmissions(pool), createAdmissions(pool)]
  const admit = (
    key: string,
    pico: bigint,
    more: { replica?: 0 | 1; currency?: Currency; tokenId?: string } = {},
  ) =>
    codeOf(
      replicas[more.replica ?? 0]!.admit({
        platformId: `${tenantId}-${key}`,
        tenantId,
        tokenId: more.tokenId ?? 'token_1',
        userId: 'user_1',
        taskLimits: [],
        currency: more.currency ?? 'USD',
        hold: formatAmount(pico),
      }),
    )
  return { tenantId, admit, reserved: () => reservedOf(tenantId) }
}

async function reservedOf(tenantId: string): Promise<readonly bigint[]> {
  const { rows } = await pool.query<{ hold: string }>(
    'select hold::text from ops.admissions where tenant_id = $1 order by platform_id',
    [tenantId],
  )
  return rows.map(({ hold }) => parseAmount(hold))
}

t.test('of two holds under one key the greater is reserved, in either order', async (t) => {
  for (const [first, second] of [
    [10n, 60n],
    [60n, 10n],
  ] as const) {
    const { admit, reserved } = await tenantOf()
    t.equal(await admit('k', first), 'no error')
    t.equal(await admit('k', second, { replica: 1 }), 'no error')
    t.same(await reserved(), [60n])
    t.equal(await admit('other', 41n), 'insufficient_balance')
    t.equal(await admit('other', 40n), 'no error')
  }
})

t.test('a repeated request needs no more than it has reserved', async (t) => {
  const { admit, reserved } = await tenantOf()
  const codes = await Promise.all(
    [0, 1, 2, 3, 4, 5].map((n) => admit('k', 60n, { replica: n % 2 === 0 ? 0 : 1 })),
  )
  t.same(
    codes,
    Array.from({ length: 6 }, () => 'no error'),
  )
  t.same(await reserved(), [60n])
  t.equal(await admit('k', 101n), 'insufficient_balance')
  t.same(await reserved(), [60n])
})

t.test(
  '409 idempotency_in_progress where another token or currency has reserved the key',
  async (t) => {
    const { admit, reserved } = await tenantOf()
    t.equal(await admit('k', 10n), 'no error')
    t.equal(await admit('k', 60n, { currency: 'CNY' }), 'idempotency_in_progress')
    t.equal(await admit('k', 60n, { tokenId: 'token_2' }), 'idempotency_in_progress')
    t.equal(await admit('other', 60n, { currency: 'CNY' }), 'no error')
    t.same(await reserved(), [10n, 60n])
  },
)

t.test('a key used in two currencies at once is reserved in one', async (t) => {
  for (let round = 0; round < 20; round += 1) {
    const { admit, reserved } = await tenantOf()
    const codes = await Promise.all([
      admit('k', 60n),
      admit('k', 60n, { currency: 'CNY', replica: 1 }),
    ])
    t.same(codes.sort(), ['idempotency_in_progress', 'no error'])
    t.same(await reserved(), [60n])
  }
})

t.test('a reservation whose task is in the log is not changed', async (t) => {
  const { tenantId, admit, reserved } = await tenantOf()
  t.equal(await admit('k', 10n), 'no error')
  await pool.query('update ops.admissions set position = 7 where tenant_id = $1', [tenantId])
  t.equal(await admit('k', 60n), 'no error', 'the log will say so')
  t.equal(await admit('k', 60n, { currency: 'CNY' }), 'no error')
  t.same(await reserved(), [10n])
})

t.test('a task that cannot be read does not stop the sweep of other reservations', async (t) => {
  const { tenantId, admit, reserved } = await tenantOf()
  await admit('unreadable', 10n)
  await admit('other', 60n)
  await pool.query(
    `insert into ops.text_spending (tenant_id, currency, replica, held, settled, turn, told_at)
     values ($1, 'USD', 'dead', 1, 0, 1, now() - interval '1 hour')`,
    [tenantId],
  )
  let nowMs = 0
  const log = {
    readStream: async (stream: string) => {
      if (stream.endsWith('unreadable')) throw new Error('its stream cannot be read')
      return []
    },
    endPosition: async () => 9n,
    append: () => Promise.reject(new Error('nothing is appended')),
  }
  const sweep = createReservationSweep({
    pool,
    log,
    monotonic: { nowMs: () => nowMs },
    admissions: createAdmissions(pool),
    logger: silentLog,
  })
  await sweep()
  nowMs += 31_000
  await t.rejects(sweep(), /its stream cannot be read/, 'the operator sees it')
  t.same(await reserved(), [10n])
  const { rows } = await pool.query<{ closed: string | null }>(
    'select closed from ops.text_spending where tenant_id = $1',
    [tenantId],
  )
  t.same(rows, [{ closed: '9' }], 'and silent replicas are closed')
  await pool.query('delete from ops.admissions where tenant_id = $1', [tenantId])
})

t.test('a sweep withdraws only the reservation that it read', async (t) => {
  const { tenantId, admit, reserved } = await tenantOf()
  let nowMs = 0
  /** Done while the sweep asks the log. */
  let meanwhile = async (): Promise<unknown> => undefined
  const log = {
    readStream: async () => (await meanwhile(), []),
    endPosition: async () => 0n,
    append: () => Promise.reject(new Error('nothing is given up here')),
  }
  const deps = {
    pool,
    log,
    logger: silentLog,
    monotonic: { nowMs: () => nowMs },
    admissions: createAdmissions(pool),
  }
  const sweep = createReservationSweep(deps)
  await admit('k', 10n)
  await sweep()
  nowMs += 29_000
  await admit('k', 60n)
  await sweep()
  nowMs += 2_000
  await sweep()
  t.same(await reserved(), [60n], 'its time began again')
  nowMs += 30_000
  meanwhile = () => admit('k', 70n)
  await sweep()
  t.same(await reserved(), [70n], 'renewed while the log was asked')
  meanwhile = () =>
    pool.query('update ops.admissions set position = 7 where tenant_id = $1', [tenantId])
  await sweep()
  nowMs += 31_000
  await sweep()
  t.same(await reserved(), [70n], 'recorded while the log was asked')
  await pool.query('update ops.admissions set position = null where tenant_id = $1', [tenantId])
  meanwhile = async () => undefined
  await sweep()
  nowMs += 31_000
  await sweep()
  t.same(await reserved(), [])
})

const attempt = fc.record({
  key: fc.constantFrom('a', 'b', 'c'),
  pico: fc.integer({ min: 1, max: 100 }),
  replica: fc.constantFrom<0 | 1>(0, 1),
  currency: fc.constantFrom<Currency>('USD', 'USD', 'CNY'),
  tokenId: fc.constantFrom('token_1', 'token_1', 'token_2'),
})

t.test('however requests share keys, the greatest hold of each key is reserved', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(attempt, { minLength: 2, maxLength: 12 }), async (all) => {
      const { tenantId, admit } = await tenantOf()
      /** The greatest that was admitted under each key, by currency: the log may take that one. */
      const greatest = new Map<string, bigint>()
      await Promise.all(
        all.map(async ({ key, pico, ...more }) => {
          if ((await admit(key, BigInt(pico), more)) !== 'no error') return
          const name = `${more.currency} ${key}`
          const known = greatest.get(name) ?? 0n
          if (BigInt(pico) > known) greatest.set(name, BigInt(pico))
        }),
      )
      for (const currency of ['USD', 'CNY']) {
        const mine = [...greatest].filter(([name]) => name.startsWith(currency))
        const inAll = mine.reduce((sum, [, pico]) => sum + pico, 0n)
        if (inAll > CREDIT) throw new Error(`${inAll} ${currency} of ${CREDIT}`)
      }
      const { rows } = await pool.query<{ name: string; hold: string }>(
        `select currency || ' ' || right(platform_id, 1) as name, hold::text
         from ops.admissions where tenant_id = $1`,
        [tenantId],
      )
      const reserved = rows.map(({ name, hold }) => [name, parseAmount(hold)] as const)
      deepStrictEqual(new Map(reserved), greatest)
    }),
    { numRuns: propertyRuns(50) },
  )
})

t.test(
  'a hold of a log that went back ends, and one that is only not projected stays',
  async (t) => {
    const { tenantId, admit, reserved } = await tenantOf()
    for (const key of ['lost', 'late'] as const) t.equal(await admit(key, 10n), 'no error')
    const admissions = createAdmissions(pool)
    for (const key of ['lost', 'late']) await admissions.recorded(`${tenantId}-${key}`, 10n ** 12n)
    let nowMs = 0
    const sweep = createReservationSweep({
      pool,
      log: {
        endPosition: () => Promise.resolve(0n),
        readStream: async (stream) =>
          stream === taskStream(`${tenantId}-late`)
            ? [{ position: 10n ** 12n } as RecordedEvent]
            : [],
        append: () => Promise.reject(new Error('nothing is given up here')),
      },
      logger: silentLog,
      monotonic: { nowMs: () => nowMs },
      admissions,
    })
    await sweep()
    nowMs = 20_000
    await sweep()
    t.strictSame(await reserved(), [10n, 10n], 'the node that answers may be behind')
    nowMs = 40_000
    await sweep()
    t.strictSame(await reserved(), [10n])
  },
)

t.test('a task that is free is admitted, whatever is owed', async (t) => {
  const { admit } = await tenantOf()
  t.equal(await admit('all', 100n), 'no error')
  t.equal(await admit('free', 0n), 'no error')
  t.equal(await admit('dear', 1n), 'insufficient_balance')
})
