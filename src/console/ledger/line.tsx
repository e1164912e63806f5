import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { readLines } from '../../api/query/ledger.ts'
import { readReceipt } from '../../api/query/receipts/route.ts'
import { readPeriodOfLine } from '../../api/query/statements/files.ts'
import type { QueryServices } from '../../api/query/services.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import type { Principal } from '../../app/access/principal.ts'
import { isOperator } from '../../domain/token/events.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import {
  apiPath,
  bookHref,
  findHref,
  lifeHref,
  paths,
  periodHref,
  pricesHref,
  proofHref,
} from '../kit/href.ts'
import { FactsPanel, Panel, type PanelFacts, panelFacts } from '../kit/panel.tsx'
import { hasLabels, Labels } from '../kit/lines.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { LedgerTabs } from '../kit/tabs.tsx'
import { Facts, grouped, Id, Money, Moment, type ZoneClock } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import { proofName } from './proof.ts'

/** One line of the ledger: how its amount was worked out, by which price, and how to verify it. */

type Receipt = Awaited<ReturnType<typeof readReceipt>>
type ReceiptLine = Receipt['lines'][number]
type LineRefund = Receipt['corrections'][number]
type Line = Awaited<ReturnType<Awaited<ReturnType<typeof readLines>>['page']>>['items'][number]

const query = Type.Object({ tz: timeRangeMembers.tz })

interface LineFacts {
  readonly tz: string | undefined
  readonly receipt: Receipt
  /** The line as its receipt has it: with its formula and its hash. */
  readonly proof: ReceiptLine
  readonly line: Line
  /** The close that has the line. */
  readonly period: PanelFacts<Awaited<ReturnType<typeof readPeriodOfLine>>>
}

/** Lines of one call or task at most. */
const MAX_LINES = 1_000

/** The receipt of a line that the ledger has, as of its position: only a line that it does not have waits for the log. */
async function receiptOf(
  { queries: { reads } }: QueryServices,
  who: Principal,
  id: string,
): Promise<Receipt> {
  const asOf = await reads.ledgerPosition(undefined)
  return readReceipt(reads, who, id, String(asOf)).catch((error: unknown) => {
    if (!isDomainError(error, 'receipt_not_found')) throw error
    return readReceipt(reads, who, id)
  })
}

async function read(
  services: QueryServices,
  who: Principal,
  id: string,
  { tz }: Static<typeof query>,
): Promise<LineFacts> {
  const receipt = await receiptOf(services, who, id)
  const asked = { source_id: receipt.id, limit: MAX_LINES, as_of: receipt.as_of }
  const { items } = await (await readLines(services, who, asked)).page()
  const proof = receipt.lines.find((one) => one.line_id === id)
  const line = items.find((one) => one.line_id === id)
  // An id of a call or task is no line.
  if (proof === undefined || line === undefined)
    throw new DomainError('receipt_not_found', 'no such task, call or line', {})
  const period = await panelFacts(who, ['finance'], () => readPeriodOfLine(services, who, id))
  return { tz, receipt, proof, line, period }
}

/** The book or the tenant's own price that a line was settled by. */
function Price({ line, view }: { readonly line: Line; readonly view: View }): JSX.Element {
  const { price_book_version: version, account_prices: own, tenant_id: tenantId } = line
  const { token } = view
  const isAdmin = token.kind === 'admin'
  const words = `price book ${version}`
  const book = isAdmin && isOperator(token) ? <a href={bookHref(version)}>{words}</a> : <>{words}</>
  if (own === null) return book
  const owned = `the tenant's own prices, revision ${own}`
  return (
    <>
      {isAdmin ? <a href={pricesHref({ tenant_id: tenantId })}>{owned}</a> : owned}, instead of{' '}
      {book}
    </>
  )
}

function Sum({ facts, view }: { readonly facts: LineFacts; readonly view: View }): JSX.Element {
  const { line, proof } = facts
  const lines = apiPath('/ledger/lines', { source_id: line.source_id, sku: line.sku })
  const money = (amount: string) => <Money amount={amount} currency={line.currency} from={lines} />
  const per = line.per === 1 ? '' : ` per ${grouped(String(line.per))}`
  return (
    <Panel id="calculation" title="Calculation">
      <p class="formula">{proof.formula}</p>
      <Facts
        facts={[
          ['amount', money(line.amount)],
          ['refunded', money(line.adjusted)],
          ['net', money(line.net)],
          ['quantity', `${grouped(String(line.quantity))} ${line.unit}, ${line.measurement}`],
          [
            'price',
            <>
              <Money amount={line.price} currency={line.currency} from={lines} />
              {per} {line.unit}
            </>,
          ],
          ['price source', <Price line={line} view={view} />],
          ['rule', <code>{line.rule}</code>],
        ]}
      />
      <p class="note">
        The amount is the quantity times the price, divided by the units that the price is for. It
        is never rounded.
      </p>
    </Panel>
  )
}

function About({ facts, clock }: { readonly facts: LineFacts; readonly clock: ZoneClock }) {
  const { line } = facts
  const of = (name: string | null, id: string): string => (name === null ? id : `${name} (${id})`)
  return (
    <Panel id="about" title="Details">
      <Facts
        facts={[
          ['settled', <Moment atMs={fromTimestamp(line.settled_at)} clock={clock} />],
          ['life', <Id id={line.source_id} href={lifeHref(line.source_id)} />],
          ['model', line.model],
          ['tenant', of(line.tenant_name, line.tenant_id)],
          ['user', of(line.user_name, line.user_id)],
          ['token', of(line.token_name, line.token_id)],
          ['request', <Id id={line.request_id} href={findHref({ q: line.request_id })} />],
          ...(hasLabels(line) ? [['for', <Labels line={line} />] as const] : []),
        ]}
      />
    </Panel>
  )
}

const refundColumns = (
  { clock, token }: Pick<View, 'clock' | 'token'>,
  currency: string,
  from: string,
): readonly TableColumn<LineRefund>[] => [
  {
    name: 'posted',
    cell: ({ posted_at: at }) => <Moment atMs={fromTimestamp(at)} clock={clock} />,
  },
  { name: 'refund', narrow: 'lead', cell: ({ adjustment_id: id }) => <Id id={id} /> },
  { name: 'reason', cell: ({ reason }) => reason },
  // The API names the poster to operators alone.
  ...(isOperator(token)
    ? [{ name: 'posted by', cell: ({ actor }: LineRefund) => actor ?? '' }]
    : []),
  { name: 'refunded', money: ({ amount }) => ({ amount, currency, from }) },
]

/** The statement that has the line, and the file that proves it. */
function InStatement({ id, period: of }: { id: string; period: LineFacts['period'] }) {
  return (
    <FactsPanel
      id="statement"
      title="Statement"
      of={of}
      show={(period) => (
        <>
          <Facts
            facts={[
              ['statement', <a href={periodHref(period)}>{period.statement}</a>],
              ['month', period.month],
              [
                'proof',
                <a href={proofHref(id)} download>
                  {proofName(id)}
                </a>,
              ],
            ]}
          />
          <p class="note">
            The proof shows that this line is in the signed month, without the others:{' '}
            <code>tollgate verify {proofName(id)} --key VKEY</code>.
          </p>
        </>
      )}
    />
  )
}

function LinePage({ facts, view }: { readonly facts: LineFacts; readonly view: View }) {
  const { line, proof, receipt } = facts
  const { clock } = view
  const id = line.line_id
  const from = apiPath(`/receipts/${encodeURIComponent(id)}`)
  return (
    <>
      <p class="eyebrow">
        Line <code>{id}</code>
      </p>
      <h1 class="title">{line.sku}</h1>
      <LedgerTabs
        at={paths.line}
        token={view.token}
        asked={{ tenant_id: line.tenant_id, tz: facts.tz }}
      />
      <Sum facts={facts} view={view} />
      <About facts={facts} clock={clock} />
      <Panel id="refunds" title="Refunds">
        <Table
          label="Refunds of the line"
          columns={refundColumns(view, line.currency, from)}
          rows={receipt.corrections.filter((one) => one.line_id === id)}
          keyOf={(one) => one.adjustment_id}
          empty="Nothing was refunded. A line never changes; a refund is a separate posting."
        />
      </Panel>
      <InStatement id={id} period={facts.period} />
      <Panel id="proof" title="Verification">
        <Facts
          facts={[
            ['position in the log', grouped(line.position)],
            ['hash in the chain', <code>{proof.hash}</code>],
          ]}
        />
        <p class="note">
          <code>tollgate receipt {id}</code> prints the formula and the hash from the stores;{' '}
          <code>tollgate audit</code> recalculates every line and the chain of hashes, and reports
          each difference.
        </p>
      </Panel>
    </>
  )
}

/** A line by its id. */
export const linePage: Page<typeof query, LineFacts> = {
  path: paths.line,
  roles: ['finance'],
  query,
  read: (services, who, { id, query: asked }) => read(services, who, id, asked),
  tenantsOf: ({ line }) => [line.tenant_id],
  title: ({ line }) => `Line ${line.line_id}`,
  show: (facts, view) => <LinePage facts={facts} view={view} />,
}
