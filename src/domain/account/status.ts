import { type Static, type TObject, Type } from '@sinclair/typebox'
import { isPrintable } from '../../kernel/characters.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { isOperator, type QueryScope, type TokenKind } from '../token/events.ts'
import { accountSetting, invalidSetting, repeated } from './setting.ts'

/** The life of a tenant: open, suspended or closed, and which of its users are suspended. */

const SuspendedUserSchema = Type.Object({ userId: Type.String(), reason: Type.String() })
export type SuspendedUser = Static<typeof SuspendedUserSchema>

const statusTerms = {
  status: Type.Union([Type.Literal('open'), Type.Literal('suspended'), Type.Literal('closed')]),
  /** Callers read it; it may be empty where the tenant is open. */
  reason: Type.String(),
  /** RFC 3339: when the status was last changed; absent: the tenant was never anything but open. */
  since: Type.Optional(Type.String()),
  /** In the order of their ids. */
  suspendedUsers: Type.Array(SuspendedUserSchema),
}
type Terms = Static<TObject<typeof statusTerms>>

export type TenantStatusName = Terms['status']

/** A wanted change; an absent member stays as it is. */
export interface WantedTenantStatus {
  readonly tenant?: { readonly status: TenantStatusName; readonly reason: string } | undefined
  /** All suspended users from now on. */
  readonly suspendedUsers?: readonly SuspendedUser[] | undefined
  /** One user, with the reason of its suspension; undefined as reason: it is resumed. */
  readonly user?: { readonly userId: string; readonly reason: string | undefined } | undefined
}

/** Suspended users of one tenant: every request reads them. */
export const MAX_SUSPENDED_USERS = 1_000
const MAX_REASON_CHARACTERS = 256
/** After its closing, a tenant reads its own results and figures for this long. */
export const CLOSED_READ_DAYS = 7
const CLOSED_READ_MS = CLOSED_READ_DAYS * 24 * 60 * 60 * 1_000

const refuse: (param: string, message: string) => never = invalidSetting('status')

/** A reason is one line, and it is not empty where callers read it. */
function reasonOf(param: string, reason: string, isNeeded: boolean): string {
  const text = reason.trim()
  if (text === '' && !isNeeded) return text
  if (!isPrintable(text, MAX_REASON_CHARACTERS))
    refuse(
      param,
      `callers read it: one line of 1 to ${MAX_REASON_CHARACTERS} characters, none of them hidden`,
    )
  return text
}

function usersAfter(
  { suspendedUsers, user }: WantedTenantStatus,
  now: readonly SuspendedUser[],
): readonly SuspendedUser[] {
  const listed = suspendedUsers ?? now
  const others = user === undefined ? listed : listed.filter((one) => one.userId !== user.userId)
  const next =
    user?.reason === undefined ? others : [...others, { userId: user.userId, reason: user.reason }]
  if (next.length > MAX_SUSPENDED_USERS)
    refuse('suspended_users', `at most ${MAX_SUSPENDED_USERS} users can be suspended at once`)
  const twice = repeated(next.map(({ userId }) => userId))
  if (twice !== undefined) refuse('suspended_users', `${twice} is given twice`)
  return next
    .map(({ userId, reason }) => ({ userId, reason: reasonOf('reason', reason, true) }))
    .toSorted((a, b) => (a.userId < b.userId ? -1 : 1))
}

const fingerprint = ({ status, reason, suspendedUsers }: Terms): string =>
  JSON.stringify([status, reason, suspendedUsers.map((one) => [one.userId, one.reason])])

/** @throws DomainError `status_refused` for a step that is not possible */
function checkStep(now: Terms, next: Terms): void {
  const refused = (message: string): never => {
    throw new DomainError('status_refused', message, { param: 'status' })
  }
  if (now.status === 'closed') refused('The tenant is closed, which is final: open another tenant')
  if (next.status === 'closed' && now.status !== 'suspended')
    refused('The tenant is open: suspend it first, so that nothing new begins, and then close it')
}

/** Has the whole life of a tenant; only an operator changes the status of the tenant itself. */
export const tenantStatus = accountSetting({
  code: 'status',
  title: 'status settings',
  type: 'TenantStatusSet',
  terms: statusTerms,
  none: { status: 'open', reason: '', suspendedUsers: [] },
  canonical: (wanted: WantedTenantStatus, now, at) => {
    const { status, reason } = wanted.tenant ?? now
    const isChanged = status !== now.status
    const next = {
      status,
      reason: reasonOf('reason', reason, status !== 'open'),
      ...(isChanged ? { since: at } : now.since !== undefined && { since: now.since }),
      suspendedUsers: [...usersAfter(wanted, now.suspendedUsers)],
    }
    if (fingerprint(next) !== fingerprint(now)) checkStep(now, next)
    return next
  },
  fingerprint,
  operatorsOnly: ({ tenant }, now) =>
    tenant === undefined || (tenant.status === now.status && tenant.reason.trim() === now.reason)
      ? undefined
      : {
          param: 'status',
          message:
            'Only an operator suspends, resumes or closes a tenant; its administrators suspend its users',
        },
  words: ({ revision, status, reason, suspendedUsers }) => {
    const users = suspendedUsers.length
    const suspended = users === 0 ? '' : `, ${users} suspended user${users === 1 ? '' : 's'}`
    return `${status}${reason === '' ? '' : `: ${reason}`}${suspended} (${revision})`
  },
})

/** A request of a token begins something that may cost, changes settings, or reads and deletes. */
export type RequestPurpose = 'create' | 'change' | 'read'

/** A token, as far as the life of its tenant decides what it may do. */
export interface StatusSubject {
  readonly kind: TokenKind
  readonly scope: QueryScope | undefined
  readonly userId: string
}

const because = (reason: string): string => (reason === '' ? '' : `: ${reason}`)

/**
 * Refuses what the status of a tenant or of a user does not allow. Tokens of operators are not bound
 * by the status of the tenant that they were issued in.
 *
 * @throws DomainError `tenant_closed`, `tenant_suspended`, `user_suspended`
 */
export function requireAllowed(
  { status, reason, since, suspendedUsers }: Terms,
  { kind, scope, userId }: StatusSubject,
  purpose: RequestPurpose,
  nowMs: number,
): void {
  if (kind !== 'model' && (scope?.level === 'all_tenants' || isOperator({ kind, scope }))) return
  if (status === 'closed') {
    const isLate = since === undefined || nowMs > fromTimestamp(since) + CLOSED_READ_MS
    const isRefused = kind === 'admin' ? purpose !== 'read' : isLate || purpose === 'create'
    if (isRefused)
      throw new DomainError(
        'tenant_closed',
        `This tenant is closed${because(reason)}. Ask the operator of the gateway`,
        {},
      )
    return
  }
  if (purpose !== 'create') return
  if (status === 'suspended')
    throw new DomainError(
      'tenant_suspended',
      `This tenant is suspended${because(reason)}. Nothing was started; ask the operator of the gateway`,
      {},
    )
  const user = suspendedUsers.find((one) => one.userId === userId)
  if (user !== undefined)
    throw new DomainError(
      'user_suspended',
      `The user of this token is suspended${because(user.reason)}. Nothing was started; ask an administrator of the tenant`,
      {},
    )
}
