import type { JSX } from 'preact'
import { Type } from 'typebox'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { actorOf, KnownId, Reason } from '../../api/kit/routes/account-surface.ts'
import { RequestError } from '../../api/kit/request-error.ts'
import type { Services } from '../../api/kit/services.ts'
import { managedLimits } from '../../app/accounts/settings.ts'
import { managedStatus } from '../../app/accounts/managed-status.ts'
import { type LimitedSubject, type SubjectLimits } from '../../domain/account/limits.ts'
import { isOperator, MAX_TOKEN_LIMIT } from '../../domain/token/events.ts'
import { limitNames } from '../../domain/token/limits.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm } from '../kit/form.tsx'
import { tenantHref } from '../kit/href.ts'
import { grouped } from '../kit/values.tsx'
import type { View } from '../page.tsx'
import type { TenantFacts } from './facts.ts'

/** Forms that suspend and limit a tenant and its users: they do the same as the routes of the settings. */

type Settings = Services['accounts']['settings']

const subjectFields = {
  subject: Type.Enum(['tenant', 'user']),
  user_id: Type.Optional(KnownId),
  expected_revision: Type.Integer({ minimum: 0 }),
}

/** The subject that a form names. @throws RequestError for a user without its id */
function subjectOf(fields: {
  readonly subject: 'tenant' | 'user'
  readonly user_id?: string
}): LimitedSubject {
  const { subject: kind, user_id: userId } = fields
  if (kind === 'tenant') return { kind }
  if (userId !== undefined) return { kind, userId }
  throw new RequestError('parameter_invalid', 'user_id is required', 'user_id')
}

/** The page to go on to, with the user chosen that was changed. */
const pageAfter = (tenantId: string, subject: LimitedSubject): string =>
  subject.kind === 'user' ? tenantHref(tenantId, { user: subject.userId }) : tenantHref(tenantId)

/** The page of a refused form about a user has that user chosen. */
const pageOfSubject = ({ user_id: user }: Readonly<Record<string, string>>) =>
  user === undefined || user === '' ? {} : { user }

const statusFields = Type.Object({
  ...subjectFields,
  status: Type.Enum(['open', 'suspended']),
  reason: Type.Optional(Reason),
})

/** The form that suspends and resumes a tenant, or one of its users. */
export const statusForm = (settings: Settings): PageForm<typeof statusFields> => ({
  name: 'status',
  roles: [],
  fields: statusFields,
  queryOf: pageOfSubject,
  act: async (request, { id: tenantId, fields }) => {
    const { status, reason = '', expected_revision: basis } = fields
    const subject = subjectOf(fields)
    await settings.set(managedStatus, adminScopeOf(request), actorOf(request), {
      tenantId,
      basis,
      wanted: () =>
        subject.kind === 'tenant'
          ? { tenant: { status, reason } }
          : {
              user: {
                userId: subject.userId,
                reason: status === 'suspended' ? reason : undefined,
              },
            },
    })
    return pageAfter(tenantId, subject)
  },
})

const Figure = Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_TOKEN_LIMIT }))
const limitFields = Type.Object({
  ...subjectFields,
  requests_per_minute: Figure,
  tokens_per_minute: Figure,
  concurrent_calls: Figure,
  concurrent_tasks: Figure,
  reason: Type.Optional(Reason),
})

const isOf =
  (subject: LimitedSubject) =>
  ({ subject: one }: SubjectLimits): boolean =>
    one.kind === 'user'
      ? subject.kind === 'user' && one.userId === subject.userId
      : subject.kind === 'tenant'

/** The form that replaces the limits of a tenant, or of one of its users; those of others stay. */
export const limitForm = (settings: Settings): PageForm<typeof limitFields> => ({
  name: 'limits',
  roles: [],
  fields: limitFields,
  queryOf: pageOfSubject,
  act: async (request, { id: tenantId, fields }) => {
    const subject = subjectOf(fields)
    const scope = adminScopeOf(request)
    // The revision holds what is read here to what was looked at.
    const { limits } = await settings.show(managedLimits, scope, tenantId)
    const changed = {
      subject,
      requestsPerMinute: fields.requests_per_minute,
      tokensPerMinute: fields.tokens_per_minute,
      concurrentCalls: fields.concurrent_calls,
      concurrentTasks: fields.concurrent_tasks,
    }
    const isLimited = limitNames.some((name) => changed[name] !== undefined)
    const others = limits.filter((one) => !isOf(subject)(one))
    await settings.set(managedLimits, scope, actorOf(request), {
      tenantId,
      reason: fields.reason,
      basis: fields.expected_revision,
      wanted: () => ({ limits: isLimited ? [...others, changed] : others }),
    })
    return pageAfter(tenantId, subject)
  },
})

/** A form of the page of a tenant. */
export interface FormProps {
  readonly facts: TenantFacts
  readonly view: View
}

/** The money that is held for running requests, in words. */
function heldInWords({ tiles: { balances } }: TenantFacts): string {
  if ('why' in balances) return ''
  const held = balances.facts.items
    .flatMap(({ accounts }) => accounts)
    .filter(({ held: amount }) => amount !== null && /[1-9]/.test(amount))
    .map(({ held: amount, currency }) => `${grouped(amount ?? '0')} ${currency}`)
  return `: ${held.length === 0 ? 'nothing' : held.join(' and ')} is held for them now`
}

/** The form that suspends or resumes the tenant, for operators. */
export function StatusOfTenant({ facts, view }: FormProps): JSX.Element | null {
  const { tenant, status } = facts
  const { token, fault, requestKey } = view
  if (!isOperator(token) || status.status === 'closed') return null
  const isOpen = status.status === 'open'
  return (
    <ActionForm
      name="status"
      title={isOpen ? 'Suspend tenant' : 'Resume tenant'}
      page={tenantHref(tenant.id)}
      requestKey={requestKey}
      button={isOpen ? 'Suspend' : 'Resume'}
      fault={fault}
      hidden={{
        subject: 'tenant',
        status: isOpen ? 'suspended' : 'open',
        expected_revision: String(status.revision),
      }}
      fields={
        isOpen
          ? [{ name: 'reason', label: 'Reason (shown to callers)' }]
          : [{ name: 'reason', label: 'Reason (kept in the log)', isOptional: true }]
      }
    >
      {isOpen
        ? `Its tokens can start nothing new. Running calls and tasks continue and are billed${heldInWords(facts)}. Its users can still read results, usage and receipts. A suspended tenant can be closed for good.`
        : `Its tokens can be used again. Reason of the suspension: ${status.reason}`}
    </ActionForm>
  )
}

/** The form for the limits of a tenant or of one user, with those that it has now. */
export function Limits({
  facts,
  view,
  subject,
}: FormProps & { readonly subject: LimitedSubject }): JSX.Element | null {
  const { tenant, limits } = facts
  if ('why' in limits) return null
  const now = limits.facts.limits.find(isOf(subject))
  const figure = (name: string, label: string, limit: number | undefined) => ({
    name,
    label,
    isOptional: true as const,
    value: limit === undefined ? '' : String(limit),
  })
  const { kind } = subject
  return (
    <ActionForm
      name="limits"
      title={kind === 'tenant' ? 'Change tenant limits' : `Change limits of ${subject.userId}`}
      page={tenantHref(tenant.id)}
      requestKey={view.requestKey}
      button="Set limits"
      fault={view.fault}
      hidden={{
        subject: kind,
        ...(kind === 'user' && { user_id: subject.userId }),
        expected_revision: String(limits.facts.revision),
      }}
      fields={[
        figure('requests_per_minute', 'Requests per minute', now?.requestsPerMinute),
        figure('tokens_per_minute', 'Tokens per minute', now?.tokensPerMinute),
        figure('concurrent_calls', 'Calls at once', now?.concurrentCalls),
        figure('concurrent_tasks', 'Tasks at once', now?.concurrentTasks),
        { name: 'reason', label: 'Reason (kept in the log)', isOptional: true },
      ]}
    >
      {kind === 'tenant'
        ? 'The limits apply to all users of the tenant together, from the next request on.'
        : 'The limits apply to all tokens of the user together, from the next request on.'}{' '}
      The fields have the limits that are set now. An empty field means no limit.
    </ActionForm>
  )
}
