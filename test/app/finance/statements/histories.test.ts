import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { leafHash, rootFromPath } from '../../../../src/kernel/merkle.ts'
import {
  type Currency,
  currencies,
  formatAmount,
  lineAmount,
  parseAmount,
} from '../../../../src/kernel/money.ts'
import { openNote, readCheckpoint, readProof } from '../../../../src/kernel/signed-note.ts'
import type { ClosedPeriod } from '../../../../src/app/finance/statements/types.ts'
import { atLength } from '../../../helpers/long-run.ts'
import { propertyRuns } from '../../../helpers/property-runs.ts'
import { shell, signer, startClosingWorld } from './support/closing-world.ts'
import { createHandedOut } from './support/handed-out.ts'

/** Random histories over a real log and Postgres, against sums of what was posted. */

const DAY_MS = 86_400_000
const RUNS = propertyRuns(atLength(4, 60))
const START_MS = Date.parse('2026-01-10T00:00:00Z')
const zones = ['UTC', 'Asia/Shanghai', 'America/St_Johns', 'Pacific/Kiritimati', 'Etc/GMT+12']

const currency = fc.constantFrom(...currencies)
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      currency,
      lateMs: fc.oneof(fc.constant(0), fc.nat({ max: 60 * DAY_MS }), fc.nat({ max: 60 * DAY_MS })),
      quantity: fc.integer({ min: 1, max: 100_000 }),
      skus: fc.subarray(['sku_a', 'sku_b', 'sku_c'], { minLength: 1 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('grant' as const),
      currency,
      amount: fc.integer({ min: 1, max: 10_000 }),
      credit: fc.constantFrom('paid' as const, 'promotional' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('refund' as const), of: fc.nat() }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat({ max: 40 * DAY_MS }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('close' as const), currency }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('void' as const), currency }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('zone' as const), zone: fc.constantFrom(...zones) }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** What was posted, as the test keeps it. */
interface Posted {
  readonly currency: Currency
  readonly lineId: string | undefined
  readonly pico: bigint
}

const world = await startClosingWorld(t)
const { statements, clock } = world
const handedOut = createHandedOut(t, world)
const counts = { closes: 0, late: 0, voids: 0, refunds: 0, proofs: 0, verified: 0 }
let histories = 0

/** One tenant's account through the steps of a history. */
class History {
  readonly tenantId = `tenant_h${(histories += 1)}`
  readonly posted: Posted[] = []
  readonly standing: Record<Currency, ClosedPeriod[]> = { CNY: [], USD: [] }

  async begin(): Promise<void> {
    clock.set(START_MS)
    await world.tenant(this.tenantId, { graceHours: 1 })
  }

  async take(each: Step): Promise<void> {
    const { tenantId, posted } = this
    clock.set(clock.nowMs() + 1_000)
    if (each.do === 'wait') clock.set(clock.nowMs() + each.ms)
    if (each.do === 'zone') await world.billing(tenantId, { graceHours: 1, timeZone: each.zone })
    if (each.do === 'grant') {
      const { currency: of, amount, credit } = each
      await world.grant(tenantId, of, String(amount), credit)
      posted.push({ currency: of, lineId: undefined, pico: parseAmount(String(amount)) })
    }
    if (each.do === 'call') {
      const lines = each.skus.map((sku) => ({ sku, quantity: each.quantity }))
      const atMs = Math.max(START_MS, clock.nowMs() - each.lateMs)
      const ids = await world.call({ tenantId, currency: each.currency, atMs, lines })
      const pico = -lineAmount(each.quantity, '0.5', 1_000_000)
      for (const lineId of ids) posted.push({ currency: each.currency, lineId, pico })
    }
    if (each.do === 'refund') await this.refund(each.of)
    if (each.do === 'close') await this.close(each.currency)
    if (each.do === 'void') {
      const last = this.standing[each.currency].pop()
      if (last === undefined) return
      counts.voids += 1
      await world.voidLast(tenantId, each.currency, last.month)
    }
  }

  async refund(of: number): Promise<void> {
    const lines = this.posted.filter(({ lineId, pico }) => lineId !== undefined && pico < 0n)
    const line = lines[of % lines.length]
    if (line?.lineId === undefined) return
    const pico = -line.pico / 7n
    if (pico === 0n) return
    await world.settle()
    try {
      await world.refund(this.tenantId, line.currency, line.lineId, formatAmount(pico))
    } catch (error) {
      // More of the line is refunded already.
      if (!isDomainError(error, 'adjustment_out_of_bounds')) throw error
      return
    }
    counts.refunds += 1
    this.posted.push({ currency: line.currency, lineId: undefined, pico })
  }

  async close(of: Currency): Promise<void> {
    const { tenantId } = this
    const rows = await statements.months({ tenantId, currency: of })
    const next = rows.find(({ status }) => status === 'open')
    if (next === undefined) return
    try {
      const { period } = await statements.close(
        { tenantId, currency: of, month: next.month },
        shell,
      )
      this.standing[of].push(period)
      counts.closes += 1
      counts.late += period.late
    } catch (error) {
      if (!isDomainError(error, 'period_blocked')) throw error
    }
  }
}

/** The leaves of a closed month, as they are handed out. */
async function leavesOf(period: ClosedPeriod): Promise<readonly string[]> {
  let text = ''
  for await (const chunk of statements.postings(period)) text += chunk
  return text.split('\n').slice(0, -1)
}

/** Time, position and number of a posting. */
function placeOf(leaf: string): readonly [string, bigint, number] {
  const [word, id, at, ...rest] = JSON.parse(leaf) as readonly (string | number)[]
  const position = word === 'line' ? rest[18] : rest[7]
  const n = word === 'line' ? Number(String(id).split(':').at(-1)) : 0
  return [String(at), BigInt(position ?? 0), n]
}

function byPlace(one: ReturnType<typeof placeOf>, other: ReturnType<typeof placeOf>): number {
  const index = [0, 1, 2].find((n) => one[n] !== other[n])
  if (index === undefined) return 0
  return (one[index] ?? '') < (other[index] ?? '') ? -1 : 1
}

function amountOf(leaf: string): bigint {
  const members = JSON.parse(leaf) as readonly unknown[]
  return members[0] === 'line' ? -parseAmount(String(members[17])) : parseAmount(String(members[5]))
}

async function checkPeriods(t: Test, history: History, of: Currency): Promise<void> {
  const { posted, tenantId } = history
  const standing = history.standing[of]
  const all = posted.filter((posting) => posting.currency === of)
  const seen = new Set<string>()
  let [closingPico, count] = [0n, 0]
  let to: string | undefined
  for (const period of standing) {
    t.equal(period.opening, formatAmount(closingPico), 'it begins with the balance before')
    if (to !== undefined) t.equal(period.from, to, 'it begins where the one before ended')
    to = period.to
    const leaves = await leavesOf(period)
    t.equal(leaves.length, period.postings + 1)
    count += period.postings
    const places = leaves.slice(1).map(placeOf)
    t.same(places, places.toSorted(byPlace), 'its postings are in their order')
    for (const leaf of leaves.slice(1)) {
      seen.add(leaf.slice(0, 80))
      closingPico += amountOf(leaf)
    }
    t.equal(period.closing, formatAmount(closingPico), 'its postings give its closing balance')
    await checkProofs(t, tenantId, period, leaves)
    await checkFiles(t, period, leaves)
  }
  t.equal(seen.size, count, 'no posting is in two periods')
  const balance = all.reduce((sum, { pico }) => sum + pico, 0n)
  const { rows } = await world.pool.query<{ balance: string }>(
    `select trim_scale(granted + adjusted - settled)::text as balance from ledger.balances
     where tenant_id = $1 and currency = $2`,
    [tenantId, of],
  )
  t.equal(rows[0]?.balance ?? '0', formatAmount(balance), 'the ledger has what was posted')
  const rows2 = await statements.months({ tenantId, currency: of })
  const open = rows2.find(({ status }) => status === 'open')
  if (open === undefined || rows[0] === undefined) return
  t.equal(rows2.filter(({ status }) => status === 'closed').length, standing.length)
}

/** Each leaf leads to the signed root, and no leaf with another byte does. */
async function checkProofs(
  t: Test,
  tenantId: string,
  period: ClosedPeriod,
  leaves: readonly string[],
): Promise<void> {
  const head = readCheckpoint(openNote(period.checkpoint, [signer.vkey]))
  for (const [index, leaf] of leaves.entries()) {
    const [word, lineId] = JSON.parse(leaf) as readonly [string, string]
    if (word !== 'line') continue
    const proof = readProof(await statements.proofOfLine({ tenantId, lineId }))
    const text = Buffer.from(proof.extra ?? [])
    const rootOf = (bytes: Uint8Array) =>
      rootFromPath({ index: proof.index, size: head.size }, leafHash(bytes), proof.path)
    counts.proofs += 1
    if (proof.index !== index || text.toString() !== leaf || !rootOf(text)?.equals(head.root))
      t.fail(`the proof of ${lineId} is not of its leaf`)
    text[(index * 31) % text.length]! ^= 1
    if (rootOf(text)?.equals(head.root)) t.fail(`another leaf than ${lineId} is proven`)
  }
}

/** Two verifiers, one of them the program that is handed out, take the files of a month, and none with another bit. */
async function checkFiles(t: Test, period: ClosedPeriod, leaves: readonly string[]): Promise<void> {
  const { root, month } = period
  const files = await handedOut.filesOf(period, leaves)
  t.same(handedOut.verdicts(files), [undefined, true], `${month} verifies`)
  const [file = 0, at = 0, bit = 0] = new Uint32Array(
    Uint8Array.from(Buffer.from(root, 'base64')).buffer,
  )
  const entries = Object.entries(files)
  const [name = '', content = ''] = entries[file % entries.length] ?? []
  const bytes = Buffer.from(content)
  bytes[at % bytes.length]! ^= 1 << (bit % 8)
  const [why, bySecond] = handedOut.verdicts({ ...files, [name]: bytes })
  t.ok(
    why,
    `${name} of ${month} does not verify with bit ${bit % 8} of byte ${at % bytes.length} flipped`,
  )
  t.equal(bySecond, false)
  counts.verified += 1
}

t.test(
  'periods chain, have each posting once, add up to the balance, prove each line, and verify',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 25, maxLength: 70 }), async (steps) => {
        const history = new History()
        await history.begin()
        for (const each of steps) await history.take(each)
        await world.settle()
        for (const of of currencies) await checkPeriods(t, history, of)
      }),
      { numRuns: RUNS, endOnFailure: true },
    )
    t.comment(JSON.stringify(counts))
    t.ok(counts.verified > 0 && counts.proofs > 0, 'the histories had closes and proofs')
  },
)
