import { createHash } from 'node:crypto'
import { apportion } from '../../../../src/kernel/apportion.ts'
import { inclusionPath, leafHash, MerkleTree } from '../../../../src/kernel/merkle.ts'
import { formatAmount, parseAmount } from '../../../../src/kernel/money.ts'
import { checkpointText, noteSigner, writeProof } from '../../../../src/kernel/signed-note.ts'

/** Closed months of made-up postings, as the gateway hands them over: for the tests of what verifies them. */

/** The files of a closed month. */
export interface ClosedMonth {
  readonly statement: string
  readonly leaves: readonly string[]
  readonly postings: string
  /** Of one posting. */
  readonly proof: string
  readonly vkey: string
}

/** What a month is made of; each choice changes its files. */
export interface MonthPlan {
  readonly lines: number
  /** Grants, adjustments and expiries after the lines, with amounts in pico. */
  readonly credits: readonly MadeCredit[]
  /** Lines dated before the month. */
  readonly late: number
  readonly skus: number
  /** Most rows of sums by SKU; the SKUs beyond them are the row `other`. */
  readonly sumRows: number
  readonly openingPico: bigint
  readonly n: number
  readonly attempt: number
  /** Which leaf the proof is of, from 1; below the number of leaves. */
  readonly proved: number
  readonly status: 'issued' | 'voided'
}

interface MadeCredit {
  readonly kind: 'paid' | 'promotional' | 'line' | 'grant' | 'expiry'
  readonly pico: bigint
}

const figures = [
  'granted_paid',
  'granted_promotional',
  'adjusted_usage',
  'adjusted_grants',
  'expired',
  'settled',
] as const
type Figure = (typeof figures)[number]

const account = ['acme', 'CNY'] as const
const FROM_MS = Date.parse('2026-10-31T16:00:00Z')
const TO_MS = Date.parse('2026-11-30T16:00:00Z')
const DAY_MS = 86_400_000
const CENT_PICO = 10n ** 10n
const FIRST_POSITION = 1_000
const signer = noteSigner('gateway.example/statements', Buffer.alloc(32, 7))

/** A small month with one posting of most kinds. */
export const plainMonth: MonthPlan = {
  lines: 4,
  credits: [
    { kind: 'paid', pico: parseAmount('100000') },
    { kind: 'line', pico: parseAmount('0.0000325') },
  ],
  late: 1,
  skus: 2,
  sumRows: 1_000,
  openingPico: parseAmount('1200.005'),
  n: 11,
  attempt: 1,
  proved: 3,
  status: 'issued',
}

interface Made {
  readonly leaf: string
  readonly figure: Figure
  readonly pico: bigint
}

interface MadeLine extends Made {
  readonly sku: string
  readonly quantity: number
}

function lineAt(n: number, { lines, late, skus }: MonthPlan): MadeLine {
  const price = ['46', '0.5', '2'][n % 3] ?? '1'
  const sku = `model-${n % skus}-tokens`
  const quantity = 100 + ((n * 7) % 90_000)
  const pico = (BigInt(quantity) * parseAmount(price)) / 1_000_000n
  // Several lines have one time: their positions order them, and the numbers those of one call.
  const step = Math.floor(((n >> 2) / lines) * (TO_MS - FROM_MS - DAY_MS))
  const atMs = n < late ? FROM_MS - DAY_MS + n : FROM_MS + step
  const call = n < late ? `late_${n}` : `call_${n >> 1}`
  const cells = [
    `${call}:${(n & 1) + 1}`,
    new Date(atMs).toISOString(),
    account[0],
    'ann',
    'token_1',
    call,
    n % 5 === 0 ? `native "${n}" 上海` : null,
    'v1.chat',
    'model',
    sku,
    'text/chat/input',
    quantity,
    'token',
    price,
    1_000_000,
    account[1],
    formatAmount(pico),
    '2026-11-01',
    n % 4 === 0 ? 'estimated' : 'reported',
    `req_${n}`,
    String(FIRST_POSITION + (n < late ? n : late + (n >> 1))),
    ...[[], [3], [null, '{"project":"apollo"}'], [null, null, 'c-17']][n % 4]!,
  ]
  return { leaf: JSON.stringify(['line', ...cells]), figure: 'settled', pico: -pico, sku, quantity }
}

function creditAt(n: number, { kind, pico }: MadeCredit, plan: MonthPlan): Made {
  const at = new Date(TO_MS - DAY_MS / 2 + n).toISOString()
  const position = String(FIRST_POSITION + 2 * plan.lines + n)
  const amount = formatAmount(pico)
  const common = [at, ...account, amount]
  if (kind === 'paid' || kind === 'promotional') {
    const reference = kind === 'paid' ? `INV-${n}` : null
    const cells = [
      'grant',
      `grant-${n}`,
      ...common,
      kind,
      reference,
      null,
      'bank transfer',
      position,
    ]
    return { leaf: JSON.stringify(cells), figure: `granted_${kind}`, pico }
  }
  if (kind === 'expiry') {
    const cells = ['expiry', `grant-${n}`, ...common, null, null, null, null, position]
    return { leaf: JSON.stringify(cells), figure: 'expired', pico }
  }
  const target = kind === 'line' ? 'call_1:1' : 'grant-0'
  const cells = ['adjustment', `adj_${n}`, ...common, kind, target, 'quality', 'broken', position]
  const figure = kind === 'line' ? 'adjusted_usage' : 'adjusted_grants'
  return { leaf: JSON.stringify(cells), figure, pico }
}

type SumRow = readonly [
  sku: string,
  unit: string | null,
  quantity: number | null,
  amount: string,
  lines: number,
]

function sumsOf(lines: readonly MadeLine[], { sumRows }: MonthPlan): readonly SumRow[] {
  const skus = [...new Set(lines.map(({ sku }) => sku))].toSorted()
  const sumOf = (of: readonly MadeLine[]) => {
    const quantity = of.reduce((sum, line) => sum + line.quantity, 0)
    const pico = of.reduce((sum, line) => sum - line.pico, 0n)
    return { quantity, amount: formatAmount(pico), lines: of.length }
  }
  const named = skus.length > sumRows ? skus.slice(0, sumRows - 1) : skus
  const rows = named.map((sku): SumRow => {
    const sum = sumOf(lines.filter((line) => line.sku === sku))
    return [sku, 'token', sum.quantity, sum.amount, sum.lines]
  })
  if (named.length === skus.length) return rows
  const rest = sumOf(lines.filter(({ sku }) => !named.includes(sku)))
  return [...rows, ['other', null, null, rest.amount, rest.lines]]
}

const sha256 = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64')

const parties = [
  ['Tollgate GmbH', ['Torstr. 1', '10119 Berlin'], 'DE', 'DE 123'],
  ['Acme 上海有限公司', ['南京东路 1 号'], 'CN', null, 'PO-7'],
] as const

function partyOf([legal_name, address, country, tax_id]: (typeof parties)[0 | 1]) {
  return { legal_name, address, country, tax_id }
}

function shown(minor: bigint): string {
  const digits = String(minor < 0n ? -minor : minor).padStart(3, '0')
  return `${minor < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

function closeOf(plan: MonthPlan, made: readonly Made[], hashed: readonly unknown[]) {
  const moved = Object.fromEntries(
    figures.map((figure) => {
      const of = made.filter((one) => one.figure === figure)
      return [figure, of.reduce((sum, { pico }) => sum + pico, 0n)]
    }),
  ) as Record<Figure, bigint>
  const closingPico = figures.reduce((sum, figure) => sum + moved[figure], plan.openingPico)
  const facts = {
    number: 'ACME-0011',
    n: plan.n,
    attempt: plan.attempt,
    month: '2026-11',
    time_zone: 'Asia/Shanghai',
    from: '2026-11-01T00:00:00+08:00',
    to: '2026-12-01T00:00:00+08:00',
    position: String(FIRST_POSITION + 3 * made.length),
  }
  const leaf = JSON.stringify([
    'close',
    1,
    ...account,
    ...Object.values(facts),
    formatAmount(plan.openingPico),
    ...figures.map((figure) => formatAmount(moved[figure])),
    formatAmount(closingPico),
    made.length,
    plan.late,
    plan.n === 1 ? null : leafHash('the month before').toString('base64'),
    ...hashed.map(sha256),
  ])
  return { facts, moved, closingPico, leaf }
}

/** What the statement shows of its movements. */
function shownOf(
  plan: MonthPlan,
  moved: Readonly<Record<Figure, bigint>>,
  sums: readonly SumRow[],
) {
  const usage = sums.map(([key, unit, quantity, amount]) => {
    return { kind: 'usage', key, quantity, unit, pico: -parseAmount(amount) }
  })
  const others = figures
    .filter((figure) => figure !== 'settled' && moved[figure] !== 0n)
    .map((figure) => {
      return { kind: figure, key: figure, quantity: null, unit: null, pico: moved[figure] }
    })
  const rows = [...usage, ...others]
  const movements = rows.map(({ kind, key, pico }) => ({ key: `${kind} ${key}`, amountPico: pico }))
  const amounts = apportion(plan.openingPico, movements, CENT_PICO)
  return {
    opening: shown(amounts.opening),
    closing: shown(amounts.closing),
    rows: rows.map(({ pico, ...row }, index) => {
      return { ...row, exact: formatAmount(pico), shown: shown(amounts.movements[index] ?? 0n) }
    }),
  }
}

/** The files of a month; `change` may make its close another one before it is signed. */
export function closeMonth(
  plan: MonthPlan,
  change: (leaves: readonly string[]) => readonly string[] = (leaves) => leaves,
): ClosedMonth {
  const lines = Array.from({ length: plan.lines }, (_, n) => lineAt(n, plan))
  const made = [...lines, ...plan.credits.map((credit, n) => creditAt(n, credit, plan))]
  const sums = sumsOf(lines, plan)
  const ofLines = plan.credits.filter(({ kind }) => kind === 'line')
  const refundedPico = ofLines.reduce((sum, { pico }) => sum + pico, 0n)
  const refunds =
    ofLines.length === 0 ? [] : [['ACME-0010', formatAmount(refundedPico), ofLines.length]]
  const accruals = ['1.5', '0.000001']
  const close = closeOf(plan, made, [[sums, refunds, accruals], parties])
  const leaves = change([close.leaf, ...made.map(({ leaf }) => leaf)])
  const hashes = leaves.map((leaf) => leafHash(leaf))
  const tree = new MerkleTree()
  for (const hash of hashes) tree.add(hash)
  const origin = `gateway.example/${account.join('/')}/2026-11/${plan.attempt}`
  const checkpoint = signer.sign(checkpointText({ origin, size: tree.size, root: tree.root() }))
  const { n: _n, attempt: _attempt, number, ...period } = close.facts
  const { opening, closing, rows } = shownOf(plan, close.moved, sums)
  const document = {
    object: 'statement',
    status: plan.status,
    notice: 'This statement is not a tax invoice.',
    number,
    tenant_id: account[0],
    currency: account[1],
    ...period,
    postings: made.length,
    late: plan.late,
    issuer: partyOf(parties[0]),
    customer: { ...partyOf(parties[1]), po_number: parties[1][4] },
    opening,
    closing,
    exact: { opening: formatAmount(plan.openingPico), closing: formatAmount(close.closingPico) },
    rows,
    refunds: refunds.map(([statement, amount, postings]) => ({ statement, amount, postings })),
    accruals: { held: accruals[0], unstated: accruals[1] },
    proof: {
      leaf: leaves[0],
      sums,
      refunds,
      accruals,
      parties,
      path: inclusionPath(0, hashes).map((hash) => hash.toString('base64')),
      checkpoint,
    },
  }
  const index = plan.proved
  const extra = Buffer.from(leaves[index] ?? '')
  return {
    statement: `${JSON.stringify(document, null, 1)}\n`,
    leaves,
    // A month of a million is longer than a text may be.
    get postings() {
      return leaves.map((leaf) => `${leaf}\n`).join('')
    },
    proof: writeProof({ extra, index, path: inclusionPath(index, hashes), checkpoint }),
    vkey: signer.vkey,
  }
}
