import type { Heard } from './caller.ts'
import type { LoggedCall } from '../../driver/log-reader.ts'
import { type Owed, owedFor, owedLines } from './prices.ts'
import type { UpstreamCall } from '../../driver/upstream-record.ts'

/** Compares what upstream accepted, what was written down and what callers were told. */

interface Evidence {
  readonly calls: readonly UpstreamCall[]
  /** Markers by request id. */
  readonly markers: ReadonlyMap<string, string>
  readonly logged: readonly LoggedCall[]
  readonly heard: readonly Heard[]
}

/** Differences shown; where there is one there may be thousands. */
const MAX_SHOWN = 20

/** What came of it; without differences the promises held. */
export interface Account {
  readonly differences: readonly string[]
  readonly delivered: number
  readonly settled: number
  readonly estimated: number
  /** Accepted upstream and never settled: what upstream charges and nobody pays. */
  readonly unbilled: readonly string[]
}

/** 10⁻¹² of the currency from a decimal string. */
function toPico(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(whole) * 10n ** 12n + BigInt(fraction.padEnd(12, '0'))
}

const shown = ({ sku, quantity, price, per, currency, pico }: Owed): string =>
  `${sku} ${quantity} at ${price}/${per} = ${pico} ${currency}`

function writtenLines(call: LoggedCall): readonly string[] {
  const { currency = '', lines = [] } = call.settlement ?? {}
  return lines
    .map((line) => shown({ ...line, currency, pico: toPico(line.amount) }))
    .sort((a, b) => a.localeCompare(b))
}

/** Estimates only say what was seen: never more than the whole, at the same prices. */
function estimateFaults(call: LoggedCall, upstream: UpstreamCall): readonly string[] {
  const { model, usage } = upstream
  return (call.settlement?.lines ?? []).flatMap((line) => {
    const unit = line.sku.slice(model.length + 1, -'-token'.length)
    const most = unit === 'output' ? usage.output_tokens : usage.input_tokens
    const [owed] = owedFor(model, unit, line.quantity)
    const exact = owed !== undefined && owed.pico === toPico(line.amount)
    if (exact && line.quantity <= most) return []
    return [
      `${call.callId} was estimated at ${line.quantity} ${line.sku} = ${line.amount}, whole: ${most}`,
    ]
  })
}

function priceFaults(call: LoggedCall, upstream: UpstreamCall): readonly string[] {
  const { settlement } = call
  if (settlement === undefined) return [`${call.callId} has no settlement`]
  const sum = settlement.lines.reduce((total, { amount }) => total + toPico(amount), 0n)
  const faults = sum === toPico(settlement.amount) ? [] : [`${call.callId}: lines sum to ${sum}`]
  if (isEstimated(call)) return [...faults, ...estimateFaults(call, upstream)]
  const owed = owedLines(upstream)
    .map(shown)
    .sort((a, b) => a.localeCompare(b))
  const written = writtenLines(call)
  if (written.join('; ') === owed.join('; ')) return faults
  return [...faults, `${call.callId} owes ${owed.join('; ')} but has ${written.join('; ')}`]
}

function isEstimated(call: LoggedCall): boolean {
  return call.settlement?.lines.some(({ measurement }) => measurement === 'estimated') ?? false
}

function repeated(names: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  return names.filter((name) => seen.size === seen.add(name).size)
}

/** What a fault explains. */
export interface Allowed {
  /** Markers of calls that died with their process: accepted upstream, they may be unbilled. */
  readonly died?: ReadonlySet<string>
  /** Markers of streams that a shutdown broke off: written down as failures, and not billed. */
  readonly brokenOff?: ReadonlySet<string>
  /** Calls whose record was destroyed on disk after they were delivered. */
  readonly destroyed?: ReadonlySet<string>
}

const nothing: ReadonlySet<string> = new Set()

/** Draws up the account. */
export function account(
  { calls, markers, logged, heard }: Evidence,
  { died = nothing, brokenOff = nothing, destroyed = nothing }: Allowed = {},
): Account {
  const differences: string[] = []
  const settled = logged.filter(({ type }) => type === 'CallSettled')
  for (const id of repeated(logged.map(({ callId }) => callId)))
    differences.push(`${id} is written down twice`)
  const accepted = new Map(calls.map((call) => [call.client_marker, call]))
  for (const marker of repeated(calls.map(({ client_marker }) => client_marker ?? '')))
    differences.push(`${marker} was sent twice`)

  const billed = new Map<string, LoggedCall>()
  const told = new Map(heard.map(({ callId, asking }) => [callId, asking.marker]))
  // Upstream forgets whose request it was after a while; whoever got an answer still knows.
  const markerOf = (call: LoggedCall) => markers.get(call.requestId) ?? told.get(call.callId)
  for (const call of settled) {
    const marker = markerOf(call)
    const upstream = marker === undefined ? undefined : accepted.get(marker)
    if (marker === undefined || upstream === undefined)
      differences.push(`${call.callId} is billed but was never accepted upstream`)
    else {
      if (billed.has(marker)) differences.push(`${marker} is billed twice`)
      billed.set(marker, call)
      if (!upstream.success) differences.push(`${marker} failed upstream and is billed`)
      differences.push(...priceFaults(call, upstream))
    }
  }
  const delivered = heard.filter((one) => one.delivered)
  for (const { asking, callId } of delivered) {
    const bill = billed.get(asking.marker)
    const isDestroyed = callId !== undefined && destroyed.has(callId)
    if (bill === undefined && !isDestroyed)
      differences.push(`${asking.marker} was delivered and is not billed`)
    else if (bill !== undefined && callId !== bill.callId)
      differences.push(`${asking.marker} was told it was ${callId}`)
  }
  const unbilled = calls
    .filter(({ success, client_marker }) => success && !billed.has(client_marker ?? ''))
    .map(({ client_marker }) => client_marker ?? '?')
  const failed = new Set(logged.filter(({ type }) => type === 'CallFailed').map(markerOf))
  for (const marker of unbilled)
    if (!died.has(marker) && !(brokenOff.has(marker) && failed.has(marker)))
      differences.push(`${marker} was accepted upstream and is not billed`)
  return {
    differences: differences.slice(0, MAX_SHOWN),
    delivered: delivered.length,
    settled: settled.length,
    estimated: settled.filter(isEstimated).length,
    unbilled,
  }
}

/** A ledger line as finance sees it. */
export interface LedgerLine {
  readonly line_id: string
  readonly source_id: string
  readonly sku: string
  readonly quantity: number
  readonly price: string
  readonly per: number
  readonly currency: string
  readonly amount: string
  readonly measurement: string
  readonly request_id: string
}

/** What differs between the ledger and the log's settlements, both ways. */
export function ledgerDifferences(
  ledger: readonly LedgerLine[],
  logged: readonly LoggedCall[],
): readonly string[] {
  const wanted = logged.flatMap(({ callId, requestId, settlement }) =>
    (settlement?.lines ?? []).map((line) =>
      textOf({ ...line, source_id: callId, request_id: requestId, currency: settlement?.currency }),
    ),
  )
  const found = ledger.map(textOf)
  const [wantedLines, foundLines] = [new Set(wanted), new Set(found)]
  const missing = wanted.filter((line) => !foundLines.has(line))
  const extra = found.filter((line) => !wantedLines.has(line))
  const differences = [
    ...missing.map((line) => `the ledger lacks ${line}`),
    ...extra.map((line) => `the ledger has ${line}`),
    ...repeated(found).map((line) => `the ledger repeats ${line}`),
  ]
  return differences.slice(0, MAX_SHOWN)
}

function textOf(
  line: Omit<LedgerLine, 'line_id' | 'currency'> & { readonly currency?: string | undefined },
): string {
  const { source_id, request_id, sku, quantity, price, per, currency, amount, measurement } = line
  return [source_id, request_id, sku, quantity, price, per, currency, amount, measurement].join(' ')
}
