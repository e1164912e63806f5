import type { JSX } from 'preact'
import { Type } from 'typebox'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { Amount } from '../../api/admin/schemas.ts'
import type { toTenant } from '../../api/admin/tenants.ts'
import { actorOf, ChangeReason } from '../../api/kit/routes/account-surface.ts'
import type { Services } from '../../api/kit/services.ts'
import { managedApprovals, managedBilling } from '../../app/accounts/settings.ts'
import { MAX_LAPSE_HOURS } from '../../domain/account/approvals.ts'
import {
  billingLanguages,
  billingTerms,
  MAX_EMAIL_CHARACTERS,
  MAX_EMAILS,
  MAX_GRACE_HOURS,
} from '../../domain/account/billing.ts'
import { MAX_ADDRESS_CHARACTERS, MAX_ADDRESS_LINES } from '../../domain/account/party.ts'
import type { SettingValueOf } from '../../domain/account/settings.ts'
import { isOperator } from '../../domain/token/events.ts'
import { currencies } from '../../kernel/money.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm } from '../kit/form.tsx'
import { billingHref, proposalHref } from '../kit/href.ts'
import type { View } from '../page.tsx'
import { reasonField } from './money-forms.tsx'

/** Forms that set whom statements are for, by which terms a tenant is billed, and what needs a second user. */

type Settings = Services['accounts']['settings']

export interface BillingFacts {
  readonly tenant: ReturnType<typeof toTenant>
  readonly billing: SettingValueOf<'billing'>
  readonly approvals: SettingValueOf<'approvals'>
}

const Revision = Type.Integer({ minimum: 0 })

/** One text of lines: a field of a form has no list. */
const linesOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

const billingFields = Type.Object({
  legal_name: Type.String(),
  address: Type.String({ maxLength: MAX_ADDRESS_LINES * (MAX_ADDRESS_CHARACTERS + 2) }),
  country: Type.String(),
  tax_id: Type.Optional(Type.String()),
  po_number: Type.Optional(Type.String()),
  emails: Type.Optional(Type.String({ maxLength: MAX_EMAILS * (MAX_EMAIL_CHARACTERS + 2) })),
  language: Type.Enum([...billingLanguages]),
  time_zone: Type.Optional(Type.String({ maxLength: 64 })),
  number_prefix: Type.Optional(Type.String({ maxLength: 16 })),
  terms: Type.Optional(Type.Enum([...billingTerms])),
  grace_hours: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_GRACE_HOURS })),
  reason: Type.Optional(ChangeReason),
  expected_revision: Revision,
})

/** The form of the billing profile; of what operators alone set, a field that is left out stays. */
export const billingForm = (settings: Settings): PageForm<typeof billingFields> => ({
  name: 'profile',
  roles: ['finance'],
  fields: billingFields,
  act: async (request, { id: tenantId, fields }) => {
    const wanted = {
      legalName: fields.legal_name,
      address: linesOf(fields.address),
      country: fields.country,
      taxId: fields.tax_id,
      poNumber: fields.po_number,
      emails: linesOf(fields.emails ?? ''),
      language: fields.language,
      timeZone: fields.time_zone,
      numberPrefix: fields.number_prefix,
      terms: fields.terms,
      graceHours: fields.grace_hours,
    }
    await settings.set(managedBilling, adminScopeOf(request), actorOf(request), {
      tenantId,
      reason: fields.reason,
      basis: fields.expected_revision,
      wanted: () => wanted,
    })
    return billingHref(tenantId)
  },
})

const aboveOf = (currency: string): string => `above_${currency.toLowerCase()}`

const Above = Type.Optional(Amount('What one person may give alone.'))
const approvalFields = Type.Object({
  ...Object.fromEntries(currencies.map((currency) => [aboveOf(currency), Above])),
  lapse_hours: Type.Integer({ minimum: 1, maximum: MAX_LAPSE_HOURS }),
  reason: Type.Optional(ChangeReason),
  expected_revision: Revision,
})

/** The form of the limits above which a second user approves. */
export const approvalForm = (settings: Settings): PageForm<typeof approvalFields> => ({
  name: 'approvals',
  roles: [],
  fields: approvalFields,
  act: async (request, { id: tenantId, fields }) => {
    const { lapse_hours: lapseHours, reason, expected_revision: basis } = fields
    const amounts: Readonly<Record<string, unknown>> = fields
    const limits = currencies.flatMap((currency) => {
      const above = amounts[aboveOf(currency)]
      return typeof above === 'string' ? [{ currency, above }] : []
    })
    const by = actorOf(request)
    const { proposal } = await settings.set(managedApprovals, adminScopeOf(request), by, {
      tenantId,
      reason,
      basis,
      wanted: () => ({ limits, lapseHours }),
    })
    return proposal === undefined ? billingHref(tenantId) : proposalHref(proposal)
  },
})

interface FormProps {
  readonly facts: BillingFacts
  readonly view: View
}

const optionsOf = (words: readonly string[]) => words.map((word) => [word, word] as const)

/** The fields that operators alone set. */
const operatorFields = ({ timeZone, numberPrefix, terms, graceHours }: BillingFacts['billing']) => [
  { name: 'time_zone', label: 'Time zone of the months', value: timeZone },
  {
    name: 'number_prefix',
    label: 'Numbers of statements begin with',
    value: numberPrefix,
    isOptional: true as const,
  },
  { name: 'terms', label: 'Terms', value: terms, options: optionsOf(billingTerms) },
  {
    name: 'grace_hours',
    label: 'Hours after a month before it may be closed',
    value: String(graceHours),
  },
]

/** The form of the profile, with what is set now. */
export function Profile({ facts: { tenant, billing }, view }: FormProps): JSX.Element {
  return (
    <ActionForm
      name="profile"
      title="Change the billing profile"
      page={billingHref(tenant.id)}
      requestKey={view.requestKey}
      button="Set profile"
      fault={view.fault}
      hidden={{ expected_revision: String(billing.revision) }}
      fields={[
        { name: 'legal_name', label: 'Name on statements', value: billing.legalName },
        {
          name: 'address',
          label: 'Address, in lines, without the country',
          value: billing.address.join('\n'),
          isLong: true,
        },
        { name: 'country', label: 'Country, such as DE', value: billing.country },
        { name: 'tax_id', label: 'Tax number', value: billing.taxId, isOptional: true },
        { name: 'po_number', label: 'Purchase order', value: billing.poNumber, isOptional: true },
        {
          name: 'emails',
          label: 'Statements go to, an address of e-mail in each line',
          value: billing.emails.join('\n'),
          isLong: true,
          isOptional: true,
        },
        {
          name: 'language',
          label: 'Language of statements',
          value: billing.language,
          options: optionsOf(billingLanguages),
        },
        ...(isOperator(view.token) ? operatorFields(billing) : []),
        reasonField,
      ]}
    >
      Statements of months that are closed from now on have it. Closed months never change.
    </ActionForm>
  )
}

/** The form of the approvals, for operators. */
export function ApprovalLimits({ facts: { tenant, approvals }, view }: FormProps): JSX.Element {
  const now = new Map(approvals.limits.map(({ currency, above }) => [currency, above]))
  return (
    <ActionForm
      name="approvals"
      title="Change what needs a second user"
      page={billingHref(tenant.id)}
      requestKey={view.requestKey}
      button="Set limits"
      fault={view.fault}
      hidden={{ expected_revision: String(approvals.revision) }}
      fields={[
        ...currencies.map((currency) => ({
          name: aboveOf(currency),
          label: `Above so much ${currency} in 24 hours`,
          value: now.get(currency) ?? '',
          isOptional: true as const,
        })),
        {
          name: 'lapse_hours',
          label: 'Hours in which it must be approved',
          value: String(approvals.lapseHours),
        },
        reasonField,
      ]}
    >
      One person grants, refunds and raises credit limits up to these amounts alone. With 0, each of
      them waits for a second user; an empty field means that none does.
    </ActionForm>
  )
}
