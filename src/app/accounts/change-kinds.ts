import type { ChangeType } from '../../../projections/timeline/query.ts'
import type { AnyEvent } from '../../domain/any-event.ts'
import { changeInWords, isSettingChange } from '../../domain/account/setting-changes.ts'
import type { SettingValueOf } from '../../domain/account/settings.ts'
import type { TokenRole } from '../../domain/token/events.ts'
import { differenceOf, type Sides } from './change-sides.ts'

/** Every kind of change: who may see it, what it is about, and its two sides. */

type DataByType = { readonly [E in AnyEvent as E['type']]: E['data'] }
/** The members of the event of a change. */
export type DataOf<T extends ChangeType> = DataByType[T]

/** The facts of one change. */
export interface ChangeFacts extends Partial<Sides> {
  /** Name in words, where it depends on the facts. */
  readonly what?: string
  /** The user that it is about. */
  readonly userId?: string | undefined
  readonly reason?: string | undefined
  /** The posting, the proposal or the statement that it made or ended. */
  readonly id?: string | undefined
  /** The line that it refunds. */
  readonly lineId?: string | undefined
}

interface ChangeKind<T extends ChangeType> {
  readonly what: string
  /** Roles that see it, in addition to tokens without one. */
  readonly roles: readonly TokenRole[]
  /** The change before it, with which it is compared: of its type or these others, and of the same token or user. */
  readonly before?: { readonly others?: readonly ChangeType[]; readonly of?: 'token' | 'user' }
  readonly facts: (
    data: DataOf<T>,
    before: Readonly<Record<string, unknown>> | undefined,
  ) => ChangeFacts
}

const both: readonly TokenRole[] = ['finance', 'support']
const finance: readonly TokenRole[] = ['finance']
const support: readonly TokenRole[] = ['support']

/** Members of events that are no terms: who, when, and how often. */
const noTerms = new Set(
  'tenantId userId tokenId revision setAt by since comparedWith secretHash lastFour issuedAt issuedBy changedAt updatedAt kind scope role'.split(
    ' ',
  ),
)
const termsOf = (data: Readonly<Record<string, unknown>> = {}) =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !noTerms.has(name)))

const differs = (
  data: object,
  before: Readonly<Record<string, unknown>> | undefined,
): ChangeFacts => differenceOf(termsOf(before), termsOf({ ...data }))

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** A setting, compared with the one that it replaces, and why where that was given. */
const setting = <T extends ChangeType>(
  what: string,
  roles: readonly TokenRole[],
): ChangeKind<T> => ({
  what,
  roles,
  before: {},
  facts: (data, { reason: _reason, ...before } = {}) => {
    const { reason, ...terms }: Readonly<Record<string, unknown>> = { ...data }
    return { ...differs(terms, before), reason: textOf(reason) ?? undefined }
  },
})

type Status = SettingValueOf<'status'>
const statusWords = {
  open: 'tenant resumed',
  suspended: 'tenant suspended',
  closed: 'tenant closed',
} as const

/** The status of a tenant, or of the user whose status differs. */
function statusFacts(data: Status, before: Readonly<Record<string, unknown>> | undefined) {
  const { status: was = 'open', suspendedUsers } = (before ?? {}) as Partial<Status>
  if (data.status !== was)
    return { what: statusWords[data.status], from: was, to: data.status, reason: data.reason }
  const [now, then] = [data.suspendedUsers, suspendedUsers ?? []].map(
    (users) => new Map(users.map(({ userId, reason }) => [userId, reason])),
  )
  const users = [...new Set([...(now?.keys() ?? []), ...(then?.keys() ?? [])])].filter(
    (id) => now?.get(id) !== then?.get(id),
  )
  const [first] = users
  if (first === undefined || users.length > 1) return differs(data, before)
  const reason = now?.get(first)
  const sides = { from: then?.has(first) === true ? 'suspended' : 'open' }
  return reason === undefined
    ? { what: 'user resumed', userId: first, ...sides, to: 'open' }
    : { what: 'user suspended', userId: first, ...sides, to: 'suspended', reason }
}

function proposalFacts({ proposalId: id, posting }: DataOf<'PostingProposed'>): ChangeFacts {
  if (isSettingChange(posting)) return { id, to: changeInWords(posting), reason: posting.reason }
  const { amount, currency } = posting
  if (posting.kind === 'limit')
    return {
      id,
      from: `${posting.before} ${currency}`,
      to: `${posting.limit} ${currency}`,
      reason: posting.reason,
    }
  const lineId =
    posting.kind === 'adjustment' && posting.corrects.kind === 'line'
      ? posting.corrects.lineId
      : undefined
  const kind = posting.kind === 'grant' ? 'credit of' : 'refund of'
  return { id, to: `${kind} ${amount} ${currency}`, reason: posting.reason, lineId }
}

function adjustmentFacts(data: DataOf<'AdjustmentPosted'>): ChangeFacts {
  const { adjustmentId: id, corrects, amount, currency, code, reason } = data
  const isOfLine = corrects.kind === 'line'
  const isGiven = !amount.startsWith('-')
  return {
    what: isOfLine ? (isGiven ? 'refund' : 'refund taken back') : 'correction of credit',
    id,
    lineId: isOfLine ? corrects.lineId : undefined,
    to: [`${amount} ${currency}`, code?.replace('_', ' ')].filter(Boolean).join(', '),
    reason,
  }
}

const issued: readonly ChangeType[] = ['TokenIssued']
const ofMonth = ({
  statement: id,
  reason,
}: {
  statement: string
  reason: string
}): ChangeFacts => ({
  id,
  reason,
})

/** Every kind of change by the type of its event. */
export const changeKinds: { readonly [T in ChangeType]: ChangeKind<T> } = {
  TenantOpened: { what: 'tenant opened', roles: both, facts: ({ name }) => ({ to: name }) },
  TenantNamed: {
    what: 'tenant renamed',
    roles: both,
    before: { others: ['TenantOpened'] },
    facts: ({ name }, before) => ({ from: textOf(before?.['name']), to: name }),
  },
  TenantStatusSet: {
    what: 'status',
    roles: both,
    before: {},
    facts: statusFacts,
  },
  UserAdded: {
    what: 'user added',
    roles: support,
    facts: ({ userId, name }) => ({ userId, to: name }),
  },
  UserRenamed: {
    what: 'user renamed',
    roles: support,
    before: { others: ['UserAdded'], of: 'user' },
    facts: ({ userId, name }, before) => ({ userId, from: textOf(before?.['name']), to: name }),
  },
  CreditGranted: {
    what: 'credit granted',
    roles: finance,
    facts: ({ grantId: id, amount, currency, credit = 'paid', reference, reason }) => ({
      id,
      to: [`${amount} ${currency}`, credit, reference && `reference ${reference}`]
        .filter(Boolean)
        .join(', '),
      reason,
    }),
  },
  CreditLimitSet: {
    what: 'credit limit',
    roles: finance,
    facts: ({ limitId: id, before, limit, currency, reason }) => ({
      id,
      from: before === undefined ? null : `${before} ${currency}`,
      to: `${limit} ${currency}`,
      reason,
    }),
  },
  AdjustmentPosted: { what: 'refund', roles: finance, facts: adjustmentFacts },
  PostingProposed: { what: 'proposal made', roles: both, facts: proposalFacts },
  PostingApproved: {
    what: 'proposal approved',
    roles: both,
    facts: ({ proposalId: id }) => ({ id }),
  },
  PostingRejected: {
    what: 'proposal rejected',
    roles: both,
    facts: ({ proposalId: id, reason }) => ({ id, reason }),
  },
  AccountPricesSet: setting('own prices', finance),
  ApprovalsSet: setting('approvals', finance),
  BudgetsSet: setting('budgets', support),
  LimitsSet: setting('limits', support),
  ReportingSet: setting('reporting', finance),
  BillingProfileSet: setting('billing profile', finance),
  BalanceAlertsSet: setting('balance alerts', []),
  TokenIssued: {
    what: 'token issued',
    roles: support,
    facts: ({ userId, kind, role }) => ({
      userId,
      to: role === undefined ? kind : `${kind}, ${role}`,
    }),
  },
  TokenRotated: {
    what: 'secret rotated',
    roles: support,
    before: { others: issued, of: 'token' },
    facts: ({ lastFour, reason }, before) => {
      const was = textOf(before?.['lastFour'])
      return { from: was === null ? null : `…${was}`, to: `…${lastFour}`, reason }
    },
  },
  TokenLimitsChanged: {
    what: 'token limits',
    roles: support,
    before: { others: issued, of: 'token' },
    facts: ({ limits, reason }, before) => ({
      ...differenceOf(before?.['limits'], limits),
      reason,
    }),
  },
  TokenUpdated: {
    what: 'token changed',
    roles: support,
    before: { others: issued, of: 'token' },
    facts: ({ reason, ...data }, before) => {
      const { limits: _limits, reason: _reason, ...was } = before ?? {}
      return { ...differs(data, was), reason }
    },
  },
  TokenDisabled: {
    what: 'token disabled',
    roles: support,
    facts: ({ reason }) => ({ from: 'active', to: 'disabled', reason }),
  },
  PeriodClosed: {
    what: 'month closed',
    roles: finance,
    facts: ({ statement: id, month, currency, despite }) => ({
      id,
      to: `${month}, ${currency}`,
      reason: despite?.reason,
    }),
  },
  VoidProposed: { what: 'void proposed', roles: finance, facts: ofMonth },
  PeriodVoided: { what: 'statement voided', roles: finance, facts: ofMonth },
  VoidRejected: { what: 'void rejected', roles: finance, facts: ofMonth },
}

/** The types of changes that a role sees; all of them without a role. */
export function changeTypesFor(role: TokenRole | undefined): readonly ChangeType[] {
  const types = Object.keys(changeKinds) as readonly ChangeType[]
  return role === undefined ? types : types.filter((type) => changeKinds[type].roles.includes(role))
}
