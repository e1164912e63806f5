import type { JSX } from 'preact'
import { Type } from 'typebox'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { Amount, CreditLimitSchema, NewGrantSchema } from '../../api/admin/schemas.ts'
import { budgetFacts } from '../../api/kit/answers/balances.ts'
import { RequestError } from '../../api/kit/request-error.ts'
import { actorOf, ChangeReason, KnownId } from '../../api/kit/routes/account-surface.ts'
import type { Services } from '../../api/kit/services.ts'
import { managedAccountPrices } from '../../app/finance/prices/account-prices.ts'
import { managedBudgets } from '../../app/spending/budgets/status.ts'
import type { BudgetSubject } from '../../domain/account/budgets.ts'
import { isTokenId } from '../../kernel/ids.ts'
import { currencies } from '../../kernel/money.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm } from '../kit/form.tsx'
import { pricesHref, proposalHref, tenantHref } from '../kit/href.ts'
import type { FormProps } from './forms.tsx'

/** Forms that give a tenant credit, and bound and price what it spends: they do the same as the routes. */

type Accounts = Services['accounts']
type Proposed = Parameters<typeof proposalHref>[0] | undefined

/** The page to go on to: a change that waits for a second user has a page of its own. */
const pageAfter = (tenantId: string, proposal: Proposed): string =>
  proposal === undefined ? tenantHref(tenantId) : proposalHref(proposal)

const Revision = Type.Integer({ minimum: 0 })
const currencyField = {
  name: 'currency',
  label: 'Currency',
  options: [['', 'Choose'] as const, ...currencies.map((one) => [one, one] as const)],
}
export const reasonField = {
  name: 'reason',
  label: 'Reason (kept in the log)',
  isOptional: true as const,
}

const { currency, amount, reason, credit, reference } = NewGrantSchema.properties
const grantFields = Type.Object({ currency, amount, reason, credit, reference })

/** The form that grants credit, once under its key. */
export const grantForm = (tenants: Accounts['tenants']): PageForm<typeof grantFields> => ({
  name: 'grant',
  roles: ['finance', 'support'],
  fields: grantFields,
  act: async (request, { id: tenantId, key, fields }) => {
    const input = {
      tenantId,
      currency: fields.currency,
      amount: fields.amount,
      reason: fields.reason,
      credit: fields.credit,
      reference: fields.reference,
      id: undefined,
      key,
    }
    const { proposal } = await tenants.grant(adminScopeOf(request), actorOf(request), input)
    return pageAfter(tenantId, proposal)
  },
})

/** The form that grants credit, for those who see all tenants. */
export function Grant({ facts: { tenant }, view }: FormProps): JSX.Element {
  return (
    <ActionForm
      name="grant"
      title="Grant credit"
      page={tenantHref(tenant.id)}
      requestKey={view.requestKey}
      button={view.token.role === 'support' ? 'Propose credit' : 'Grant'}
      fault={view.fault}
      fields={[
        currencyField,
        { name: 'amount', label: 'Amount, such as 100 or 12.5' },
        {
          name: 'credit',
          label: 'Kind of credit',
          value: 'paid',
          options: [
            ['paid', 'paid for'],
            ['promotional', 'given away'],
          ],
        },
        { name: 'reference', label: 'Invoice or payment', isOptional: true },
        { name: 'reason', label: 'Reason (shown in the ledger)' },
      ]}
    >
      The balance grows by the amount at once, or once a second user approves it where approvals are
      set.
    </ActionForm>
  )
}

const creditLimitFields = Type.Object({
  currency: CreditLimitSchema.properties.currency,
  amount: CreditLimitSchema.properties.amount,
  reason: Type.Optional(ChangeReason),
})

/** The form that sets how far below zero a balance may go. */
export const creditLimitForm = (
  tenants: Accounts['tenants'],
): PageForm<typeof creditLimitFields> => ({
  name: 'credit-limit',
  roles: [],
  fields: creditLimitFields,
  act: async (request, { id: tenantId, key, fields }) => {
    const { amount: limit, currency: of, reason: why } = fields
    const input = { tenantId, currency: of, limit, reason: why, id: undefined, key }
    const { proposal } = await tenants.setLimit(adminScopeOf(request), actorOf(request), input)
    return pageAfter(tenantId, proposal)
  },
})

/** The form of the credit limit, for operators. */
export function CreditLimit({ facts: { tenant }, view }: FormProps): JSX.Element {
  return (
    <ActionForm
      name="credit-limit"
      title="Set credit limit"
      page={tenantHref(tenant.id)}
      requestKey={view.requestKey}
      button="Set credit limit"
      fault={view.fault}
      fields={[currencyField, { name: 'amount', label: 'Limit (0: prepaid)' }, reasonField]}
    >
      The balance in the currency may go so far below zero. The limit is part of what is available.
    </ActionForm>
  )
}

const Bound = Type.Optional(Amount('A bound of a budget.'))
const budgetFields = Type.Object({
  /** A user or a token; a field named `subject` would name the form that a fault is about. */
  owner: Type.Optional(KnownId),
  currency: budgetFacts.currency,
  period: budgetFacts.period,
  hard: Bound,
  soft: Bound,
  reason: Type.Optional(ChangeReason),
  expected_revision: Revision,
})

function subjectOf(owner: string | undefined): BudgetSubject {
  if (owner === undefined) return { kind: 'tenant' }
  return isTokenId(owner) ? { kind: 'token', tokenId: owner } : { kind: 'user', userId: owner }
}

const idIn = (subject: BudgetSubject): string =>
  subject.kind === 'user' ? subject.userId : subject.kind === 'token' ? subject.tokenId : ''

/** The form that sets, changes or removes one budget; the others stay. */
export const budgetForm = (settings: Accounts['settings']): PageForm<typeof budgetFields> => ({
  name: 'budget',
  roles: [],
  fields: budgetFields,
  act: async (request, { id: tenantId, fields }) => {
    const { owner, currency: of, period, hard, soft, expected_revision: basis } = fields
    const scope = adminScopeOf(request)
    // The revision holds what is read here to what was looked at.
    const { budgets } = await settings.show(managedBudgets, scope, tenantId)
    const subject = subjectOf(owner)
    const others = budgets.filter(
      (one) =>
        one.subject.kind !== subject.kind ||
        idIn(one.subject) !== idIn(subject) ||
        one.currency !== of ||
        one.period !== period,
    )
    const set = {
      subject,
      currency: of,
      period,
      ...(hard === undefined ? {} : { hard }),
      ...(soft === undefined ? {} : { soft }),
    }
    const isSet = hard !== undefined || soft !== undefined
    const { proposal } = await settings.set(managedBudgets, scope, actorOf(request), {
      tenantId,
      reason: fields.reason,
      basis,
      wanted: () => ({ budgets: isSet ? [...others, set] : others }),
    })
    return pageAfter(tenantId, proposal)
  },
})

/** The form that sets one budget. */
export function SetBudget({ facts: { tenant, budgets }, view }: FormProps): JSX.Element | null {
  if ('why' in budgets) return null
  return (
    <ActionForm
      name="budget"
      title="Set a budget"
      page={tenantHref(tenant.id)}
      requestKey={view.requestKey}
      button="Set budget"
      fault={view.fault}
      hidden={{ expected_revision: String(budgets.facts.revision) }}
      fields={[
        { name: 'owner', label: 'User or token, by its id (empty: the tenant)', isOptional: true },
        currencyField,
        {
          name: 'period',
          label: 'Per',
          value: 'month',
          options: [
            ['month', 'month'],
            ['day', 'day'],
          ],
        },
        { name: 'hard', label: 'Stops at', isOptional: true },
        { name: 'soft', label: 'Warns at', isOptional: true },
        reasonField,
      ]}
    >
      It replaces the budget of the same owner, currency and period; the others stay. Without
      amounts that budget is removed.
    </ActionForm>
  )
}

const priceFields = Type.Object({
  sku: KnownId,
  currency,
  price: Type.Optional(Amount('An own price.')),
  reason: Type.Optional(ChangeReason),
})

/** The form that sets, changes or removes the tenant's own price of one SKU, by the units of its list price. */
export const priceForm = (settings: Accounts['settings']): PageForm<typeof priceFields> => ({
  name: 'price',
  roles: [],
  fields: priceFields,
  act: async (request, { id: tenantId, fields }) => {
    const { sku, currency: of, price, reason: why } = fields
    const scope = adminScopeOf(request)
    const now = await settings.show(managedAccountPrices, scope, tenantId)
    const { revision, multiplier, prices, book } = now
    const isIt = (one: { readonly sku: string; readonly currency: string }) =>
      one.sku === sku && one.currency === of
    const units = book?.lookup(sku, of) ?? prices.find(isIt)
    if (units === undefined)
      throw new RequestError('parameter_invalid', `no price book has ${sku} in ${of}`, 'sku')
    const others = prices.filter((one) => !isIt(one))
    const { unit, per } = units
    const set = price === undefined ? [] : [{ sku, currency: of, unit, per, price }]
    const { proposal } = await settings.set(managedAccountPrices, scope, actorOf(request), {
      tenantId,
      reason: why,
      basis: revision,
      wanted: () => ({ multiplier, prices: [...others, ...set] }),
    })
    return proposal === undefined ? pricesHref({ tenant_id: tenantId }) : proposalHref(proposal)
  },
})

/** The form of own prices, for operators. */
export function OwnPrice({ facts: { tenant }, view }: FormProps): JSX.Element {
  return (
    <ActionForm
      name="price"
      title="Set an own price"
      page={tenantHref(tenant.id)}
      requestKey={view.requestKey}
      button="Set price"
      fault={view.fault}
      fields={[
        { name: 'sku', label: 'SKU' },
        currencyField,
        { name: 'price', label: 'Price (empty: the list price applies again)', isOptional: true },
        reasonField,
      ]}
    >
      The tenant pays it instead of the list price, for the same units, from the next request on.{' '}
      <a href={pricesHref({ tenant_id: tenant.id })}>Own prices</a> has those that are set. For many
      at once: <code>tollgate prices --help</code>.
    </ActionForm>
  )
}
