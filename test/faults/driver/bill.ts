/** What is owed, what was billed, and whether those are the same: for tasks and for calls. */
import { setTimeout as sleep } from 'node:timers/promises'

/** A line of a bill. */
export interface Owed {
  readonly sku: string
  readonly quantity: number
  readonly currency: string
  /** 10⁻¹² of the currency. */
  readonly pico: bigint
}

/** What a success is billed, as the log has it. */
export interface LoggedSettlement {
  readonly currency: string
  readonly amount: string
  readonly lines: readonly {
    readonly sku: string
    readonly quantity: number
    readonly amount: string
  }[]
}

/** A price of a run's own book. */
interface Price {
  readonly sku: string
  readonly currency: string
  readonly unit: string
  readonly per: number
  readonly price: string
}

export type Say = (code: string, subject: string, message: string) => void

/** 10⁻¹² of the currency from a decimal string. */
export function toPico(amount: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] =
    /^(-?)(\d+)(?:\.(\d{1,12}))?$/.exec(amount) ?? []
  const pico = BigInt(whole) * 10n ** 12n + BigInt(fraction.padEnd(12, '0') || '0')
  return sign === '-' ? -pico : pico
}

/** These SKUs of one currency and unit as entries of a price book. */
export function pricesOf(
  table: Readonly<Record<string, string>>,
  currency: string,
  unit: string,
  per: number,
): readonly Price[] {
  return Object.entries(table).map(([sku, price]) => ({ sku, currency, unit, per, price }))
}

/** So much of a SKU at these prices; of nothing there is no line. */
export function owedAt(prices: readonly Price[], sku: string, quantity: number): readonly Owed[] {
  const entry = prices.find((one) => one.sku === sku)
  if (entry === undefined) throw new RangeError(`there is no price for ${sku}`)
  if (quantity === 0) return []
  const pico = (toPico(entry.price) * BigInt(quantity)) / BigInt(entry.per)
  return [{ sku, quantity, currency: entry.currency, pico }]
}

const shown = ({ sku, quantity, currency, pico }: Owed): string =>
  `${sku} ${quantity} ${pico} ${currency}`

/** Lines in any order, then what they come to. */
function sumUp(lines: readonly Owed[], total: bigint): string {
  const sorted = lines.map(shown).toSorted((a, b) => a.localeCompare(b))
  return `${sorted.join('; ')} = ${total}`
}

/** Whether exactly what is owed stands in a settlement. */
export function judgeBill(
  subject: string,
  owed: readonly Owed[],
  { currency, amount, lines }: LoggedSettlement,
  say: Say,
): void {
  const should = sumUp(
    owed,
    owed.reduce((sum, { pico }) => sum + pico, 0n),
  )
  const billed = sumUp(
    lines.map((line) => ({ ...line, currency, pico: toPico(line.amount) })),
    toPico(amount),
  )
  const [first] = owed
  if (first !== undefined && first.currency !== currency)
    say('wrong_currency', subject, `owes ${first.currency} and has ${currency}`)
  else if (should !== billed) say('wrong_amount', subject, `owes ${should} and has ${billed}`)
}

/** The ledger holds exactly the lines of the settlements, by the ids of what they settle. */
export function judgeLedger(
  settlements: Iterable<readonly [sourceId: string, LoggedSettlement]>,
  lines: readonly LedgerLine[],
  say: Say,
): void {
  const expected = new Map<string, string>()
  for (const [sourceId, { currency, lines: settled }] of settlements)
    for (const [index, line] of settled.entries())
      expected.set(
        `${sourceId}:${index + 1}`,
        shown({ ...line, currency, pico: toPico(line.amount) }),
      )
  for (const { line_id: id, amount, ...line } of lines) {
    const told = shown({ ...line, pico: toPico(amount) })
    const should = expected.get(id)
    if (should === undefined) say('line_unexplained', id, told)
    else if (should !== told) say('line_differs', id, `${told} instead of ${should}`)
    expected.delete(id)
  }
  for (const [id, line] of expected) say('line_missing', id, line)
}

/** The ledger as finance reads it: over HTTP, page by page. */

const PAGE = 500
const TIMEOUT_MS = 60_000
const UNAVAILABLE_MS = 120_000
const LOOK_AGAIN_MS = 500

interface LedgerPage {
  readonly data: { readonly items: readonly LedgerLine[]; readonly next_cursor: string | null }
}

export interface LedgerLine {
  readonly line_id: string
  readonly source_id: string
  readonly native_id: string | null
  readonly tenant_id: string
  readonly model: string
  readonly sku: string
  readonly quantity: number
  readonly currency: string
  readonly amount: string
}

export async function readLedger(
  address: string,
  queryToken: string,
): Promise<readonly LedgerLine[]> {
  const lines: LedgerLine[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { data } = await readPage(
      `${address}/api/query/v1/ledger/lines?limit=${PAGE}${query}`,
      queryToken,
    )
    lines.push(...data.items)
    cursor = data.next_cursor
  }
  return lines
}

/** A page of lines. A busy gateway may answer 503 for a moment, and says what is not available. */
async function readPage(url: string, queryToken: string): Promise<LedgerPage> {
  const untilMs = performance.now() + UNAVAILABLE_MS
  for (;;) {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${queryToken}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (response.ok) return (await response.json()) as LedgerPage
    const answered = `the ledger answered ${response.status}: ${await response.text()}`
    if (response.status !== 503 || performance.now() > untilMs) throw new Error(answered)
    process.stderr.write(`${answered}\n`)
    await sleep(LOOK_AGAIN_MS)
  }
}
