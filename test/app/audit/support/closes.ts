import { createHash } from 'node:crypto'
import { accountStream } from '../../../../src/domain/account/events.ts'
import { issuerStream } from '../../../../src/domain/issuer/events.ts'
import type { PeriodClosed } from '../../../../src/domain/statement/events.ts'
import type { RecordedEvent } from '../../../../src/eventlog/log/types.ts'
import { leafHash, MerkleTree } from '../../../../src/kernel/merkle.ts'
import { type Currency, formatAmount, parseAmount } from '../../../../src/kernel/money.ts'
import { checkpointText, noteSigner } from '../../../../src/kernel/signed-note.ts'
import { type Recorder, START_MS } from '../../../projections/support/history.ts'

/** Closes written from docs/verify.md over the events of a log. */

export const statementSigner = noteSigner('gateway.example/statements', Buffer.alloc(32, 7))

const issuer = {
  legalName: 'Tollgate GmbH',
  address: ['Torstr. 1', 'Berlin'],
  country: 'DE',
}
const customer = {
  legalName: 'Acme 上海有限公司',
  address: ['南京东路 1 号'],
  country: 'CN',
  taxId: 'CN 123',
  poNumber: 'PO-7',
}

/** Issuer, customer and key, as closes name them. */
export function recordParties(recorder: Recorder, tenantId: string): readonly RecordedEvent[] {
  const setAt = new Date(START_MS).toISOString()
  const terms = { language: 'en', timeZone: 'Asia/Shanghai', terms: 'prepaid' } as const
  const billing = { emails: [], ...terms, numberPrefix: 'ACME', graceHours: 0 }
  return [
    recorder.record(issuerStream, {
      type: 'IssuerProfileSet',
      data: { ...issuer, revision: 1, setAt },
    }),
    recorder.record(issuerStream, {
      type: 'StatementKeyPublished',
      data: { vkey: statementSigner.vkey, publishedAt: setAt },
    }),
    recorder.record(accountStream(tenantId), {
      type: 'BillingProfileSet',
      data: { ...customer, ...billing, tenantId, revision: 1, setAt },
    }),
  ]
}

type Figure = 'paid' | 'promotional' | 'usage' | 'grants' | 'settled'
interface Posting {
  readonly figure: Figure
  readonly pico: bigint
  readonly at: string
  readonly position: bigint
  readonly n: number
  readonly leaf: readonly unknown[]
  readonly line?: { readonly sku: string; readonly unit: string; readonly quantity: number }
}

function linesOf({ data, position }: Extract<RecordedEvent, { type: 'CallSettled' }>): Posting[] {
  const { settlement, settledAt: at } = data
  return settlement.lines.map((line, index): Posting => {
    const last = [line.accountPrice?.revision ?? null, null, data.endUser ?? null]
    while (last.at(-1) === null) last.pop()
    const leaf = [
      ['line', `${data.callId}:${index + 1}`, at, data.tenantId, data.userId, data.tokenId],
      [data.callId, null, data.surface, data.model, line.sku, line.rule, line.quantity],
      [line.unit, line.price, line.per, settlement.currency, line.amount],
      [settlement.priceBookVersion, line.measurement, data.requestId, String(position), ...last],
    ].flat()
    const pico = -parseAmount(line.amount)
    return { figure: 'settled', pico, at, position, n: index + 1, leaf, line }
  })
}

/** The postings of a tenant in a currency, in the order of the log. */
function postingsIn(
  events: readonly RecordedEvent[],
  tenantId: string,
  currency: string,
): readonly Posting[] {
  return events.flatMap((event): readonly Posting[] => {
    const { type, data, position } = event
    if (!('tenantId' in data) || data.tenantId !== tenantId) return []
    if (type === 'CallSettled') return data.settlement.currency === currency ? linesOf(event) : []
    if (type !== 'CreditGranted' && type !== 'AdjustmentPosted') return []
    if (data.currency !== currency) return []
    const [at, id] =
      'grantedAt' in data ? [data.grantedAt, data.grantId] : [data.postedAt, data.adjustmentId]
    const pico = parseAmount(data.amount)
    const named = [id, at, tenantId, currency, data.amount]
    const one = { pico, at, position, n: 0 }
    if ('grantedAt' in data) {
      const { credit = 'paid', reference = null, reason } = data
      const leaf = ['grant', ...named, credit, reference, null, reason, String(position)]
      return [{ ...one, figure: credit === 'paid' ? 'paid' : 'promotional', leaf }]
    }
    const { corrects, code = null, reason } = data
    const target = corrects.kind === 'line' ? corrects.lineId : corrects.grantId
    const leaf = ['adjustment', ...named, corrects.kind, target, code, reason, String(position)]
    return [{ ...one, figure: corrects.kind === 'line' ? 'usage' : 'grants', leaf }]
  })
}

interface CloseNames {
  readonly tenantId: string
  readonly currency: Currency
  readonly n: number
  readonly attempt: number
  readonly statement: string
  readonly month: string
  readonly from: string
  readonly to: string
  readonly position: bigint
  readonly closedAt: string
}

const sha256 = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64')

function sumsOf(postings: readonly Posting[]): PeriodClosed['sums'] {
  const lines = postings.flatMap(({ line, pico }) => (line ? [{ ...line, pico }] : []))
  return [...new Set(lines.map(({ sku }) => sku))].toSorted().map((sku) => {
    const of = lines.filter((line) => line.sku === sku)
    const quantity = of.reduce((sum, line) => sum + line.quantity, 0)
    const amount = formatAmount(of.reduce((sum, { pico }) => sum - pico, 0n))
    return { sku, unit: 'token', quantity, amount, lines: of.length }
  })
}

/** What the tree of a close has before its postings. */
function closeLeafOf(data: Omit<PeriodClosed, 'root' | 'checkpoint'>): readonly unknown[] {
  const { granted, adjusted, accruals } = data
  const party = ({ legalName, address, country }: typeof issuer) => [legalName, address, country]
  return [
    ['close', 1, data.tenantId, data.currency, data.statement, data.n, data.attempt],
    [data.month, data.timeZone, data.from, data.to, data.position, data.opening],
    [granted.paid, granted.promotional, adjusted.usage, adjusted.grants, data.expired],
    [data.settled, data.closing, data.postings, data.late, data.previous?.root ?? null],
    [
      sha256([
        data.sums.map((sum) => [sum.sku, sum.unit, sum.quantity, sum.amount, sum.lines]),
        data.refunds.map((row) => [row.statement, row.amount, row.postings]),
        [accruals.held, accruals.unstated],
      ]),
    ],
    [
      sha256([
        [...party(issuer), null],
        [...party(customer), customer.taxId, customer.poNumber],
      ]),
    ],
  ].flat()
}

/** Signs the tree of a close and of the leaves after it. */
function sealed(
  data: Omit<PeriodClosed, 'root' | 'checkpoint'>,
  leaves: readonly unknown[],
): PeriodClosed {
  const tree = new MerkleTree()
  for (const leaf of [closeLeafOf(data), ...leaves]) tree.add(leafHash(JSON.stringify(leaf)))
  const { tenantId, currency, month, attempt } = data
  const origin = ['gateway.example', tenantId, currency, month, attempt].join('/')
  const text = checkpointText({ origin, size: tree.size, root: tree.root() })
  return {
    ...data,
    root: tree.root().toString('base64'),
    checkpoint: statementSigner.sign(text),
  }
}

/** A close over the events before it; `change` may write other members before it is sealed. */
export function closeOf(
  { position, ...names }: CloseNames,
  last: PeriodClosed | undefined,
  events: readonly RecordedEvent[],
  change: Partial<PeriodClosed> = {},
): PeriodClosed {
  const { tenantId, currency, from, to } = names
  const timeOf = (text: string): number => Date.parse(text)
  const postings = postingsIn(events, tenantId, currency)
    .filter((one) => timeOf(one.at) < timeOf(to) && one.position <= position)
    .filter(
      (one) =>
        last === undefined ||
        timeOf(one.at) >= timeOf(last.to) ||
        one.position > BigInt(last.position),
    )
    .toSorted(
      (one, other) =>
        timeOf(one.at) - timeOf(other.at) ||
        Number(one.position - other.position) ||
        one.n - other.n,
    )
  const moved = (figure: Figure): string =>
    formatAmount(postings.reduce((sum, one) => (one.figure === figure ? sum + one.pico : sum), 0n))
  const opening = last?.closing ?? '0'
  const refunded = postings.filter(({ figure }) => figure === 'usage')
  return sealed(
    {
      ...names,
      timeZone: 'Asia/Shanghai',
      position: String(position),
      opening,
      granted: { paid: moved('paid'), promotional: moved('promotional') },
      adjusted: { usage: moved('usage'), grants: moved('grants') },
      expired: '0',
      settled: moved('settled'),
      closing: formatAmount(postings.reduce((sum, { pico }) => sum + pico, parseAmount(opening))),
      lines: postings.filter(({ line }) => line).length,
      postings: postings.length,
      late: postings.filter(({ at }) => timeOf(at) < timeOf(from)).length,
      sums: sumsOf(postings),
      refunds:
        refunded.length === 0
          ? []
          : [{ statement: null, amount: moved('usage'), postings: refunded.length }],
      accruals: { held: '1.5', unstated: '0' },
      profile: 1,
      issuer: 1,
      ...(last === undefined ? {} : { previous: { n: last.n, root: last.root } }),
      ...change,
    },
    postings.map(({ leaf }) => leaf),
  )
}
