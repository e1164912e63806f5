import type { JSX } from 'preact'
import { Type } from 'typebox'
import type { ProposalRow } from '../../../projections/proposals/query.ts'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { Amount, NewAdjustmentSchema } from '../../api/admin/schemas.ts'
import { actorOf } from '../../api/kit/routes/account-surface.ts'
import { principalOf } from '../../api/kit/tokens/authenticate.ts'
import { RequestError } from '../../api/kit/request-error.ts'
import { readLife } from '../../api/query/lives/route.ts'
import { reasonCodes } from '../../domain/account/postings.ts'
import { isOperator } from '../../domain/token/events.ts'
import { DomainError } from '../../kernel/errors.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm } from '../kit/form.tsx'
import { lifeHref, proposalHref, proposalsHref } from '../kit/href.ts'
import { Table, type TableColumn } from '../kit/table.tsx'
import type { ConsoleServices } from '../page.tsx'
import { readingAs } from '../session/reading-as.ts'
import { lifePath, type LifeView } from './panels.tsx'

/** The form that refunds a life, or a part of one of its settled lines, or proposes that. */

const { code, reason } = NewAdjustmentSchema.properties
const line = '[^ ,]+'
const left = ' (?:0|[1-9]\\d{0,14})(?:\\.\\d{1,12})?'
const refundFields = Type.Object({
  line_id: Type.String({
    maxLength: 4_096,
    pattern: `^${line}(?:${left}(?:,${line}${left})*)?$`,
    words: 'must be one of the choices',
  }),
  amount: Type.Optional(Amount('The amount to refund.')),
  code,
  reason,
})

const codes = reasonCodes.map((name) => [name, name.replace('_', ' ')] as const)

type Line = NonNullable<LifeView['life']['receipt']>['lines'][number]

/** The amount of a line that can still be refunded. */
const leftOf = ({ amount, adjusted }: Line): string =>
  formatAmount(parseAmount(amount) - parseAmount(adjusted))

/** A line with the amount of it that is refunded. */
interface Part {
  readonly lineId: string
  readonly amount: string
}

/**
 * A choice of the form: lines with the amounts that its reader saw. Nothing depends on another field, and a form that
 * is sent again means the same, though less is left by then.
 */
const choiceOf = (lines: readonly Line[]): string =>
  lines.map((line) => `${line.line_id} ${leftOf(line)}`).join(',')

/** Reads a choice; the amount that was written is of one line. @throws RequestError */
function partsIn(choice: string, written: string | undefined): readonly Part[] {
  const parts = choice.split(',').map((part) => {
    const [lineId = '', left] = part.split(' ')
    return { lineId, amount: written ?? left }
  })
  if (written !== undefined && parts.length > 1)
    throw wrongAmount('is of one line: choose the line, or leave the amount empty')
  return parts.map(({ lineId, amount }) => {
    if (amount === undefined) throw wrongAmount('is required')
    return { lineId, amount }
  })
}

const wrongAmount = (words: string): RequestError =>
  new RequestError('parameter_invalid', `amount ${words}`, 'amount')

/** Refunds parts of lines of the life of its page, each once under the key of the form. */
export function refundForm({ accounts, queries }: ConsoleServices): PageForm<typeof refundFields> {
  return {
    name: 'refund',
    roles: ['finance', 'support'],
    fields: refundFields,
    act: async (request, { id, key, fields }) => {
      const { line_id: choice, amount, ...terms } = fields
      const parts = partsIn(choice, amount)
      const life = await readLife(queries.reads, readingAs(principalOf(request)), id, {})
      const lines = new Set(life.receipt?.lines.map((line) => line.line_id))
      if (parts.some(({ lineId }) => !lines.has(lineId)))
        throw new DomainError('line_not_found', 'This life has no such line', {})
      const proposals: ProposalRow[] = []
      for (const [n, part] of parts.entries()) {
        const of = { key: n === 0 ? key : `${key}.${n}`, id: undefined }
        const input = { tenantId: life.tenant_id, ...terms, ...part, ...of }
        const done = await accounts.tenants.adjust(adminScopeOf(request), actorOf(request), input)
        if (done.proposal !== undefined) proposals.push(done.proposal)
      }
      const [first, second] = proposals
      if (first === undefined) return lifeHref(id)
      return second === undefined ? proposalHref(first) : proposalsHref()
    },
  }
}

const CHOOSE = ['', 'Choose'] as const

/** The whole life first, then each of its lines. */
function choices(lines: readonly Line[], currency: string) {
  const words = (amountPico: bigint): string => `(${formatAmount(amountPico)} ${currency})`
  const all = lines.reduce((sum, line) => sum + parseAmount(leftOf(line)), 0n)
  const whole = [choiceOf(lines), `All of it ${words(all)}`] as const
  if (lines.length <= 1) return lines.length === 0 ? [] : [whole]
  const each = lines.map((line) => {
    const left = words(parseAmount(leftOf(line)))
    return [choiceOf([line]), `${line.sku} ${left}, ${line.line_id}`] as const
  })
  return [CHOOSE, whole, ...each]
}

/** The form, for operators, with the figures of each line before. */
export function Refund({ life, token, currency, fault, requestKey }: LifeView): JSX.Element | null {
  const lines = life.receipt?.lines.filter((line) => leftOf(line) !== '0') ?? []
  const isRefused = fault?.form === 'refund'
  if (!isOperator(token) || (lines.length === 0 && !isRefused)) return null
  const money = (amount: string) => ({ amount, currency, from: lifePath(life) })
  const columns: readonly TableColumn<Line>[] = [
    { name: 'line', narrow: 'lead', cell: (line) => <code>{line.line_id}</code> },
    { name: 'SKU', cell: ({ sku }) => sku },
    { name: 'charged', money: ({ amount }) => money(amount) },
    { name: 'refunded', money: ({ adjusted }) => money(adjusted) },
    { name: 'refundable', money: (line) => ({ amount: leftOf(line), currency }) },
  ]
  return (
    <ActionForm
      name="refund"
      title="Refund"
      page={lifeHref(life.id)}
      requestKey={requestKey}
      button={token.role === 'support' ? 'Propose refund' : 'Refund'}
      fault={fault}
      fields={[
        { name: 'line_id', label: 'Refund', options: choices(lines, currency) },
        {
          name: 'amount',
          label: `Amount in ${currency}, of one line (empty: all that is left)`,
          isOptional: true,
        },
        { name: 'code', label: 'Code (for reports)', options: [CHOOSE, ...codes] },
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
