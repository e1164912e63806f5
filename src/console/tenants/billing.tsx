import type { JSX } from 'preact'
import { Type } from 'typebox'
import { toTenant } from '../../api/admin/tenants.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import type { Principal } from '../../app/access/principal.ts'
import { managedApprovals, managedBilling } from '../../app/accounts/settings.ts'
import { isOperator } from '../../domain/token/events.ts'
import { currencies } from '../../kernel/money.ts'
import { UnplacedFault } from '../kit/form.tsx'
import { adminPath, paths, tenantHref } from '../kit/href.ts'
import { Panel } from '../kit/panel.tsx'
import { Facts, Money } from '../kit/values.tsx'
import type { ConsoleServices, Page, View } from '../page.tsx'
import { adminScopeOfSession } from '../session/reading-as.ts'
import { ApprovalLimits, type BillingFacts, Profile } from './billing-forms.tsx'

/** Whom the statements of a tenant are for, by which terms it is billed, and what needs a second user. */

const query = Type.Object({ tz: timeRangeMembers.tz })

async function read(
  { accounts: { tenants, settings } }: ConsoleServices,
  token: Principal,
  id: string,
): Promise<BillingFacts> {
  const scope = adminScopeOfSession(token, 'Billing profiles')
  const tenant = toTenant(await tenants.find(scope, id))
  const [billing, approvals] = await Promise.all([
    settings.show(managedBilling, scope, id),
    settings.show(managedApprovals, scope, id),
  ])
  return { tenant, billing, approvals }
}

const orNone = (text: string | undefined): string =>
  text === undefined || text === '' ? 'none' : text

function ProfileFacts({ billing }: Pick<BillingFacts, 'billing'>): JSX.Element {
  const { legalName, address, country, taxId, poNumber, emails, language } = billing
  const { timeZone, numberPrefix, terms, graceHours } = billing
  return (
    <Facts
      facts={[
        ['name', orNone(legalName)],
        ['address', orNone([...address, country].filter((line) => line !== '').join(', '))],
        ['tax number', orNone(taxId)],
        ['purchase order', orNone(poNumber)],
        ['statements go to', orNone(emails.join(', '))],
        ['language', language],
        ['months in', timeZone],
        ['numbers begin with', orNone(numberPrefix)],
        ['terms', terms],
        ['closed at the earliest', `${graceHours} hours after the month`],
      ]}
    />
  )
}

function BillingPage({ facts, view }: { readonly facts: BillingFacts; readonly view: View }) {
  const { tenant, billing, approvals } = facts
  const { token, fault } = view
  const from = adminPath(`/tenants/${encodeURIComponent(tenant.id)}/approvals`)
  const mayApprove = isOperator(token) && token.role === undefined
  return (
    <>
      <h1 class="title">Billing of {tenant.name}</h1>
      <p class="note links">
        <a href={tenantHref(tenant.id)}>The tenant</a>
      </p>
      <Panel
        id="profile"
        title={billing.revision === 0 ? 'No billing profile is set' : 'Billing profile'}
      >
        <ProfileFacts billing={billing} />
      </Panel>
      <Panel id="approvals" title="What needs a second user">
        <Facts
          facts={[
            ...currencies.map((currency) => {
              const limit = approvals.limits.find((one) => one.currency === currency)
              const what =
                limit === undefined ? (
                  'nothing'
                ) : (
                  <>
                    above <Money amount={limit.above} from={from} /> in 24 hours
                  </>
                )
              return [currency, what] as const
            }),
            ['approved within', `${approvals.lapseHours} hours`],
          ]}
        />
      </Panel>
      <Profile facts={facts} view={view} />
      {mayApprove ? (
        <ApprovalLimits facts={facts} view={view} />
      ) : fault?.form === 'approvals' ? (
        <UnplacedFault fault={fault} />
      ) : null}
      <p class="note links">
        The same as JSON, with an admin token:{' '}
        <code>GET {adminPath(`/tenants/${encodeURIComponent(tenant.id)}/billing`)}</code> and{' '}
        <code>GET {from}</code>.
      </p>
    </>
  )
}

/** The billing profile and the approvals of a tenant. */
export const billingPage: Page<typeof query, BillingFacts> = {
  path: paths.billing,
  roles: ['finance'],
  query,
  read: (services, _who, { id, token }) => read(services, token, id),
  tenantsOf: ({ tenant }) => [tenant.id],
  tenantIn: (id) => id,
  title: ({ tenant }) => `Billing of ${tenant.name}`,
  show: (facts, view) => <BillingPage facts={facts} view={view} />,
}
