import type { JSX } from 'preact'
import { Type } from 'typebox'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { Amount, NewAdjustmentSchema } from '../../api/admin/schemas.ts'
import { actorOf } from '../../api/kit/routes/account-surface.ts'
import { principalOf } from '../../api/kit/tokens/authenticate.ts'
import { readLife } from '../../api/query/lives/route.ts'
import { reasonCodes } from '../../domain/account/postings.ts'
import { isOperator } from '../../domain/token/events.ts'
import { DomainError } from '../../kernel/errors.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm } from '../kit/form.tsx'
import { lifeHref, proposalHref } from '../kit/href.ts'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Money } from '../kit/values.tsx'
import type { ConsoleServices } from '../page.tsx'
import { readingAs } from '../session/reading-as.ts'
import { lifePath, type LifeView } from './panels.tsx'

/** The form that refunds a part of a settled line, or proposes it. */

const { line_id, code, reason } = NewAdjustmentSchema.properties
const refundFields = Type.Object({
  line_id,
  amount: Amount('The amount to refund.'),
  code,
  reason,
})

const codes = reasonCodes.map((name) => [name, name.replace('_', ' ')] as const)

type Line = NonNullable<LifeView['life']['receipt']>['lines'][number]

/** The amount of a line that can still be refunded. */
const leftOf = ({ amount, adjusted }: Line): string =>
  formatAmount(parseAmount(amount) - parseAmount(adjusted))

/** Posts the refund of a line of the life of its page, once under its key. */
export function refundForm({ accounts, queries }: ConsoleServices): PageForm<typeof refundFields> {
  return {
    name: 'refund',
    roles: ['finance', 'support'],
    fields: refundFields,
    act: async (request, { id, key, fields }) => {
      const { line_id: lineId, ...terms } = fields
      const life = await readLife(queries.reads, readingAs(principalOf(request)), id, {})
      if (life.receipt?.lines.every((line) => line.line_id !== lineId) !== false)
        throw new DomainError('line_not_found', 'This life has no such line', {})
      const input = { tenantId: life.tenant_id, lineId, ...terms, id: undefined, key }
      const done = await accounts.tenants.adjust(adminScopeOf(request), actorOf(request), input)
      if (done.proposal === undefined) return lifeHref(id)
      return proposalHref(done.proposal)
    },
  }
}

/** The form, for operators, with the figures of each line before. */
export function Refund({ life, token, currency, fault, requestKey }: LifeView): JSX.Element | null {
  const lines = life.receipt?.lines.filter((line) => leftOf(line) !== '0') ?? []
  const isRefused = fault?.form === 'refund'
  if (!isOperator(token) || (lines.length === 0 && !isRefused)) return null
  const money = (amount: string) => (
    <Money amount={amount} currency={currency} from={lifePath(life)} />
  )
  const columns: readonly TableColumn<Line>[] = [
    { name: 'line', narrow: 'lead', cell: (line) => <code>{line.line_id}</code> },
    { name: 'SKU', cell: ({ sku }) => sku },
    { name: 'charged', right: true, cell: ({ amount }) => money(amount) },
    { name: 'refunded', right: true, cell: ({ adjusted }) => money(adjusted) },
    {
      name: 'refundable',
      right: true,
      cell: (line) => <Money amount={leftOf(line)} currency={currency} />,
    },
  ]
  const [first] = lines
  return (
    <ActionForm
      name="refund"
      title="Refund"
      page={lifeHref(life.id)}
      requestKey={requestKey}
      button={token.role === 'support' ? 'Propose refund' : 'Refund'}
      fault={fault}
      fields={[
        {
          name: 'line_id',
          label: 'Line',
          options: lines.map(({ line_id: id, sku }) => [id, `${id}, ${sku}`] as const),
        },
        {
          name: 'amount',
          label: `Amount in ${currency}`,
          value: first === undefined ? '' : leftOf(first),
        },
        { name: 'code', label: 'Code (for reports)', options: codes },
        { name: 'reason', label: 'Reason (shown in the ledger)' },
      ]}
    >
      <Table
        label="Lines that can be refunded"
        columns={columns}
        rows={lines}
        keyOf={({ line_id: id }) => id}
        empty="Everything was refunded."
      />
      <p>
        {token.role === 'support'
          ? 'This proposes a refund, which moves no money until a user of finance approves it.'
          : 'The tenant is credited at once. Above the limit that one person may post in 24 hours, the refund is proposed, and another user approves it.'}
      </p>
    </ActionForm>
  )
}
