import type { JSX } from 'preact'
import { isOperator } from '../../domain/token/events.ts'
import { ActionForm, type FormFault, UnplacedFault } from '../kit/form.tsx'
import { activityHref, tenantHref } from '../kit/href.ts'
import { Panel } from '../kit/panel.tsx'
import { Facts } from '../kit/values.tsx'
import { type FormProps, Limits, StatusOfTenant } from './forms.tsx'
import { InviteForm } from './invite.tsx'
import { IssueForm } from './issue.tsx'
import { AddUser, Close, Rename } from './life-forms.tsx'
import { CreditLimit, Grant, OwnPrice, SetBudget } from './money-forms.tsx'

/**
 * The forms below the page of a tenant. A user is chosen first, so that each of its forms shows what is set for that
 * user, with and without script.
 */

/** The form that suspends the user, or that resumes it. */
function StatusOfUser({
  facts: { tenant, status },
  view,
  userId,
}: FormProps & { readonly userId: string }): JSX.Element {
  const suspension = status.suspendedUsers.find((one) => one.userId === userId)
  const isOpen = suspension === undefined
  return (
    <ActionForm
      name="status"
      title={`${isOpen ? 'Suspend' : 'Resume'} ${userId}`}
      page={tenantHref(tenant.id)}
      requestKey={view.requestKey}
      button={isOpen ? 'Suspend user' : 'Resume user'}
      fault={view.fault}
      hidden={{
        subject: 'user',
        user_id: userId,
        status: isOpen ? 'suspended' : 'open',
        expected_revision: String(status.revision),
      }}
      fields={isOpen ? [{ name: 'reason', label: 'Reason (shown to callers)' }] : []}
    >
      {isOpen
        ? 'The tokens of the user can start nothing new. Running calls and tasks continue.'
        : `The tokens of the user can be used again. Reason of the suspension: ${suspension.reason}`}
    </ActionForm>
  )
}

/** Chooses a user by its id. */
function Chooser({
  tenantId,
  value,
  tz,
}: {
  readonly tenantId: string
  readonly value: string
  readonly tz: string | undefined
}) {
  return (
    <form class="filter" method="get" action={`${tenantHref(tenantId)}#user`}>
      {tz === undefined ? null : <input type="hidden" name="tz" value={tz} />}
      <label>
        <span>Change the user</span>
        <input
          type="text"
          name="user"
          value={value}
          required
          autocomplete="off"
          spellcheck={false}
          maxLength={128}
        />
      </label>
      <button type="submit">Choose</button>
    </form>
  )
}

/** The chosen user, or the field that chooses one. */
function ChosenUser(props: FormProps): JSX.Element {
  const { facts, view } = props
  const { tenant, user: of, query, status, limits } = facts
  const { fault } = view
  const isFaultOfUser =
    fault !== undefined && isOfSubject(fault) && fault.written['subject'] !== 'tenant'
  if (of === undefined || 'why' in of)
    return (
      <>
        {isFaultOfUser ? <UnplacedFault fault={fault} /> : null}
        {of === undefined || isFaultOfUser ? null : <p class="panel fault">{of.why}</p>}
        <Chooser tenantId={tenant.id} value={query.user ?? ''} tz={query.tz} />
      </>
    )
  const { id, name } = of.facts
  const suspension = status.suspendedUsers.find((one) => one.userId === id)
  const isLimited =
    'facts' in limits &&
    limits.facts.limits.some(({ subject }) => subject.kind === 'user' && subject.userId === id)
  return (
    <>
      <Panel id="user" title={`User ${name}`}>
        <Facts
          facts={[
            ['user', <code>{id}</code>],
            ['status', suspension === undefined ? 'open' : `suspended: ${suspension.reason}`],
            ['limits', isLimited ? 'set' : 'none of its own'],
            ['calls and tasks', <a href={activityHref(tenant.id, { user_id: id })}>activity</a>],
          ]}
        />
      </Panel>
      <StatusOfUser {...props} userId={id} />
      <Limits {...props} subject={{ kind: 'user', userId: id }} />
      <Chooser tenantId={tenant.id} value="" tz={query.tz} />
    </>
  )
}

const operatorForms: readonly string[] = ['grant', 'credit-limit', 'price', 'close']

/** Whether a refused form is one that only operators are shown. */
const isOfOperators = (fault: FormFault | undefined): boolean =>
  fault !== undefined &&
  (operatorForms.includes(fault.form) ||
    (isOfSubject(fault) && fault.written['subject'] === 'tenant'))

/** Whether a refused form names the tenant or a user as its subject. */
const isOfSubject = ({ form }: FormFault): boolean => form === 'status' || form === 'limits'

/** The forms that the reader may use. */
export function TenantForms(props: FormProps): JSX.Element {
  const { facts, view } = props
  const isOperators = isOperator(view.token)
  const isClosed = facts.status.status === 'closed'
  if (view.token.role !== undefined)
    return (
      <>
        {isOperators && !isClosed ? <Grant {...props} /> : <UnplacedFault fault={view.fault} />}
        <p class="panel note">Other changes need an admin token without a role.</p>
      </>
    )
  if (isClosed)
    return (
      <>
        <UnplacedFault fault={view.fault} />
        <p class="panel note">This tenant is closed for good.</p>
      </>
    )
  const { fault } = view
  return (
    <>
      {isOperators || !isOfOperators(fault) ? null : <UnplacedFault fault={fault} />}
      {isOperators ? (
        <>
          <Grant {...props} />
          <CreditLimit {...props} />
          <OwnPrice {...props} />
        </>
      ) : null}
      <SetBudget {...props} />
      {isOperators ? <Limits {...props} subject={{ kind: 'tenant' }} /> : null}
      <ChosenUser {...props} />
      <AddUser {...props} />
      <InviteForm {...props} />
      <IssueForm {...props} />
      <Rename {...props} />
      <StatusOfTenant {...props} />
      {isOperators && facts.status.status === 'suspended' ? <Close {...props} /> : null}
    </>
  )
}
