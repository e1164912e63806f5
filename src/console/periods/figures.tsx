import type { JSX } from 'preact'
import type { StatementSource } from '../../app/finance/statements/document/source.ts'
import {
  type CreditKind,
  statementOf,
  type StatementRow,
} from '../../app/finance/statements/document/statement.ts'
import { apiPath, periodFileHref, periodHref } from '../kit/href.ts'
import { Panel } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Facts, grouped, Money } from '../kit/values.tsx'

/** The figures of a month as its statement has them: each row in exact digits and in whole cents, which add up. */

/** Rows of usage; all of them are in the files. */
const MAX_ROWS = 200

const creditWords: Readonly<Record<CreditKind, string>> = {
  granted_paid: 'credit bought',
  granted_promotional: 'promotional credit',
  adjusted_usage: 'refunds of usage',
  adjusted_grants: 'corrections of credit',
  expired: 'expired credit',
}

interface ShownRow {
  readonly key: string
  readonly name: string
  readonly quantity: string
  readonly exact: string
  readonly shown: string
  readonly isTotal?: true
}

function usageRow({ key, quantity, unit, exact, shown }: StatementRow): ShownRow {
  const amount = quantity === null ? '' : `${grouped(String(quantity))} ${unit ?? ''}`
  return { key: `usage ${key}`, name: key, quantity: amount, exact, shown }
}

function rowsOf(source: StatementSource): { rows: readonly ShownRow[]; left: number } {
  const { opening, closing, exact, rows } = statementOf(source.period)
  const usage = rows.filter(({ kind }) => kind === 'usage')
  const credits = rows.flatMap(({ kind, ...row }) =>
    kind === 'usage'
      ? []
      : [{ key: kind, name: creditWords[kind], quantity: '', exact: row.exact, shown: row.shown }],
  )
  const balance = (name: 'opening' | 'closing', shown: string): ShownRow => {
    return {
      key: name,
      name: `${name} balance`,
      quantity: '',
      exact: exact[name],
      shown,
      isTotal: true,
    }
  }
  return {
    rows: [
      balance('opening', opening),
      ...usage.slice(0, MAX_ROWS).map(usageRow),
      ...credits,
      balance('closing', closing),
    ],
    left: Math.max(0, usage.length - MAX_ROWS),
  }
}

/** An amount in whole cents, with both of its decimals. */
function Cents({
  amount,
  from,
  isTotal,
}: {
  readonly amount: string
  readonly from: string
  readonly isTotal: true | undefined
}): JSX.Element {
  const text = (
    <span class={amount.startsWith('-') ? 'money money-minus' : 'money'} data-from={from}>
      {grouped(amount).replace('-', '−')}
    </span>
  )
  return isTotal ? <strong>{text}</strong> : text
}

function columnsIn(currency: string, from: string): readonly TableColumn<ShownRow>[] {
  return [
    {
      name: 'movement',
      narrow: 'lead',
      cell: ({ name, isTotal }) => (isTotal ? <strong>{name}</strong> : name),
    },
    { name: 'quantity', right: true, cell: ({ quantity }) => quantity },
    { name: `exact, ${currency}`, money: ({ exact }) => ({ amount: exact, from }) },
    {
      name: `on the statement, ${currency}`,
      right: true,
      cell: ({ shown, isTotal }) => <Cents amount={shown} from={from} isTotal={isTotal} />,
    },
  ]
}

/** Opening, movements by SKU and kind, closing. */
export function Figures({ source }: { readonly source: StatementSource }): JSX.Element {
  const { period, issued } = source
  const { tenantId, currency, month, late, accruals } = period
  const from = apiPath(`/periods/${month}/statement`, {
    tenant_id: tenantId,
    currency,
    status: issued === undefined ? 'preview' : undefined,
  })
  const { rows, left } = rowsOf(source)
  const money = (amount: string) => <Money amount={amount} currency={currency} from={from} />
  return (
    <Panel id="figures" title={issued === undefined ? 'Figures as they would be now' : 'Figures'}>
      <Table
        label="Opening balance, movements and closing balance"
        columns={columnsIn(currency, from)}
        rows={rows}
        keyOf={({ key }) => key}
        empty=""
      />
      {left === 0 ? null : (
        <p class="note">
          The first {MAX_ROWS} SKUs; {grouped(String(left))} more are in the files.
        </p>
      )}
      <Facts
        facts={[
          ['postings', grouped(String(period.postings))],
          ['of them late', grouped(String(late))],
          ['held for running tasks', money(accruals.held)],
          ['used, not settled yet', money(accruals.unstated)],
        ]}
      />
      <p class="note">
        {late === 0
          ? 'No posting is dated before the month.'
          : `Postings dated before the month that the ledger had only after the month before was closed: ${grouped(String(late))}. They come first in the file of postings.`}{' '}
        What is held or not settled is in no figure: it will be in the month in which it is settled.
      </p>
    </Panel>
  )
}

type CreditNote = ReturnType<typeof statementOf>['creditNotes'][number]

/** Refunds by the statement of their lines: the credit notes. */
export function Refunds({ source }: { readonly source: StatementSource }): JSX.Element | null {
  const { period, issued } = source
  const { tenantId, currency, month } = period
  const { creditNotes } = statementOf(period)
  if (creditNotes.length === 0) return null
  const name = ({ statement }: CreditNote) => statement ?? 'this month, or no statement'
  const columns: readonly TableColumn<CreditNote>[] = [
    { name: 'refunds of', narrow: 'lead', cell: name },
    {
      name: 'credit note',
      cell: ({ number }) =>
        number === null || issued === undefined ? (
          number
        ) : (
          <a
            href={periodFileHref({ tenantId, currency, month }, 'statement.pdf', {
              credit_note: number,
            })}
            download
          >
            {number}
          </a>
        ),
    },
    { name: 'postings', right: true, cell: ({ postings }) => grouped(String(postings)) },
    { name: 'exact', money: ({ exact }) => ({ amount: exact }) },
    { name: 'amount', money: ({ shown }) => ({ amount: shown, currency }) },
  ]
  return (
    <Panel id="refunds" title="Refunds by statement">
      <Table
        label="Refunds by the statement of their lines"
        columns={columns}
        rows={creditNotes}
        keyOf={({ statement }) => statement ?? ''}
        empty=""
      />
    </Panel>
  )
}

/** A link to a month of the same account. */
export function MonthLink({
  of,
  month,
  tz,
  children,
}: {
  readonly of: { readonly tenantId: string; readonly currency: string }
  readonly month: string
  readonly tz: string | undefined
  readonly children: string
}): JSX.Element {
  return (
    <a class="button" href={periodHref({ ...of, month }, { tz })}>
      {children}
    </a>
  )
}
