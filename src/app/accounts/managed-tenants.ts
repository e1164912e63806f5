import {
  listTenants,
  listUsers,
  type TenantRow,
  type UserRow,
} from '../../../projections/access/query.ts'
import type { ProposalRow } from '../../../projections/proposals/query.ts'
import { lineFacts } from '../../../projections/ledger/query.ts'
import { settingIn } from '../../domain/account/settings.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { type Currency, formatAmount, parseAmount } from '../../kernel/money.ts'
import { didYouMean } from '../../kernel/nearest-name.ts'
import { addUser, openTenant } from './account-commands.ts'
import { readUser, renameUser } from './users.ts'
import { correctedPico } from '../../domain/account/adjustments.ts'
import { keyedPosting, type PostingKind } from '../../domain/account/posting-ids.ts'
import { type AccountSource, readAccountState } from './account-state.ts'
import {
  type AdjustmentInput,
  type CreditLimitInput,
  grantCredit,
  type GrantInput,
  postAdjustment,
  setCreditLimit,
} from './credit.ts'
import { personWithIssuers } from './known-token.ts'
import { type Actor, depsOf, type ManagementDeps, shown } from './management.ts'
import { requireCaughtUp } from '../read-models/catch-up.ts'
import { isWithin, type AdminScope, requireOperator } from './admin-scope.ts'

interface AfterId {
  /** Id of the last one on the page before. */
  readonly after: string | undefined
  readonly limit: number
}

/**
 * Management of tenants, their users and their credit by the bearer of an admin token. A tenant
 * outside the token's scope is `tenant_not_found`, exactly like a missing one (P8). Only operators
 * open tenants and grant credit: `scope_denied` for others.
 */
export interface ManagedTenants {
  readonly list: (adminScope: AdminScope, page: AfterId) => Promise<readonly TenantRow[]>
  readonly find: (adminScope: AdminScope, tenantId: string) => Promise<TenantRow>
  /** A repetition with the same id and name changes nothing. */
  readonly open: (
    adminScope: AdminScope,
    by: Actor,
    input: { readonly tenantId?: string; readonly name: string },
  ) => Promise<TenantRow>
  readonly users: (
    adminScope: AdminScope,
    tenantId: string,
    page: AfterId,
  ) => Promise<readonly UserRow[]>
  /** A repetition with the same id and name changes nothing. */
  readonly addUser: (
    adminScope: AdminScope,
    by: Actor,
    input: Parameters<typeof addUser>[1],
  ) => Promise<UserRow>
  /** A user of a tenant. @throws DomainError `user_not_found` */
  readonly user: (adminScope: AdminScope, tenantId: string, userId: string) => Promise<UserRow>
  /** Renames a user; its present name changes nothing. @throws DomainError `user_not_found`, `setting_invalid` */
  readonly renameUser: (
    adminScope: AdminScope,
    by: Actor,
    input: Parameters<typeof renameUser>[1],
  ) => Promise<UserRow & { readonly changed: boolean }>
  /** A repetition with the same id or key grants or proposes nothing more; support only proposes. */
  readonly grant: (
    adminScope: AdminScope,
    by: Actor,
    input: Omit<GrantInput, 'grantId' | 'keyHash' | 'by'> & PostingName,
  ) => Promise<Posted | Proposed>
  /** A repetition with the same id or key sets or proposes nothing more. */
  readonly setLimit: (
    adminScope: AdminScope,
    by: Actor,
    input: Omit<CreditLimitInput, 'limitId' | 'keyHash' | 'by'> & PostingName,
  ) => Promise<Posted | Proposed>
  /**
   * Gives a part of a settled line back, or takes such a part back again; a repetition with the same
   * id or key moves nothing more. @throws DomainError `line_not_found`
   */
  readonly adjust: (
    adminScope: AdminScope,
    by: Actor,
    input: Pick<AdjustmentInput, 'tenantId' | 'amount' | 'reason' | 'code'> & {
      readonly lineId: string
    } & PostingName,
  ) => Promise<AdjustedLine | Proposed>
}

/** A line after an adjustment. */
interface AdjustedLine extends Posted {
  readonly currency: Currency
  /** What the line costs after all adjustments: exact decimal. */
  readonly net: string
}

/** Identifies retries of a posting: its id, or the id derived from its key. */
export type PostingName =
  | { readonly id: string; readonly key: undefined }
  | { readonly id: string | undefined; readonly key: string }

/** The outcome of a posting. */
interface Posted {
  readonly id: string
  /** False: it was posted before. */
  readonly changed: boolean
  readonly proposal?: undefined
}

/** A posting that waits for the approval of a second user. */
interface Proposed {
  readonly proposal: ProposalRow
  /** False: it was proposed before. */
  readonly changed: boolean
}

/** The format of tenant ids: other texts are not looked up. */
const tenantIdShape = /^[^\p{Cc}\p{Cs}]{1,128}$/u

function requireWithin(adminScope: AdminScope, tenantId: string): void {
  if (!isWithin(adminScope, { tenantId }) || !tenantIdShape.test(tenantId)) notFound()
}

/** Tenants whose ids are compared with an unknown one. */
const MAX_COMPARED = 1_000

/** Reads a tenant by the log, which includes one that any replica opened a moment ago. */
export async function readTenant(
  source: AccountSource,
  tenantId: string,
): Promise<TenantRow | undefined> {
  const { name, openedAt, settings } = await readAccountState(source, tenantId)
  if (name === undefined || openedAt === undefined) return undefined
  const { status } = settingIn(settings, 'status')
  return { tenantId, name, openedAtMs: fromTimestamp(openedAt), status }
}

/** Names the tenant whose id is nearest to an unknown one: the end of a message, often empty. */
export async function nearestTenant(
  { db }: Pick<ManagementDeps, 'db'>,
  tenantId: string,
): Promise<string> {
  const tenants = await listTenants(db, { limit: MAX_COMPARED })
  return didYouMean(
    tenantId,
    tenants.map((one) => one.tenantId),
  )
}

/**
 * A tenant within the scope. For a caller that manages all tenants, the error names the nearest id.
 * @throws DomainError `tenant_not_found`
 */
export async function findTenant(
  deps: ManagementDeps,
  adminScope: AdminScope,
  tenantId: string,
): Promise<TenantRow> {
  requireWithin(adminScope, tenantId)
  const tenant = await readTenant(deps, tenantId)
  if (tenant !== undefined) return tenant
  return notFound(adminScope.kind === 'all' ? await nearestTenant(deps, tenantId) : '')
}

/** @throws the codes of the account decider, of the log and of the database; `read_model_behind` */
export function createManagedTenants(deps: ManagementDeps): ManagedTenants {
  const { db } = deps
  const find = (adminScope: AdminScope, tenantId: string) => findTenant(deps, adminScope, tenantId)
  return {
    find,
    list: async (adminScope, page) => {
      if (adminScope.kind === 'all') {
        await requireCaughtUp(deps, 'access')
        return listTenants(db, page)
      }
      return page.after === undefined ? [await find(adminScope, adminScope.tenantId)] : []
    },
    open: async (adminScope, by, input) => {
      requireOperator(adminScope)
      const { tenantId } = await openTenant(depsOf(deps, by), input)
      return find(adminScope, tenantId)
    },
    users: async (adminScope, tenantId, page) => {
      await find(adminScope, tenantId)
      await requireCaughtUp(deps, 'access')
      return listUsers(db, { tenantId, ...page })
    },
    addUser: async (adminScope, by, input) => {
      const { tenantId } = input
      requireWithin(adminScope, tenantId)
      const { userId } = await addUser(depsOf(deps, by), input)
      return readUser(deps, tenantId, userId)
    },
    user: async (adminScope, tenantId, userId) => {
      await find(adminScope, tenantId)
      return readUser(deps, tenantId, userId)
    },
    renameUser: async (adminScope, by, input) => {
      const { tenantId, userId } = input
      await find(adminScope, tenantId)
      const { changed, position } = await renameUser(depsOf(deps, by), input)
      const user = await readUser(deps, tenantId, userId)
      await shown(deps, 'access', position)
      return { ...user, changed }
    },
    ...postingsOf(deps),
  }
}

/** The person of a posting; with the role of support, the person posts nothing alone. */
async function posterOf({ log }: ManagementDeps, actor: Actor) {
  const by = await personWithIssuers(log, actor)
  return { by, ...(actor.role === 'support' && { proposesOnly: true }) }
}

function postingsOf(deps: ManagementDeps): Pick<ManagedTenants, 'grant' | 'setLimit' | 'adjust'> {
  return {
    grant: async (adminScope, by, input) => {
      requireOperator(adminScope)
      requireWithin(adminScope, input.tenantId)
      const { id: grantId, keyed } = named('grant', input)
      const { tenantId, currency, amount, reason, credit, reference } = input
      const terms = { currency, amount, reason, credit, reference }
      const grant = { tenantId, grantId, ...terms, ...(await posterOf(deps, by)), ...keyed }
      const { changed, position, proposal } = await grantCredit(depsOf(deps, by), grant)
      await shown(deps, proposal === undefined ? 'ledger' : 'proposals', position)
      if (proposal !== undefined) return { proposal, changed }
      return { id: grantId, changed }
    },
    setLimit: async (adminScope, by, input) => {
      requireOperator(adminScope)
      requireWithin(adminScope, input.tenantId)
      const { id: limitId, keyed } = named('limit', input)
      const { tenantId, currency, limit, reason } = input
      const person = await personWithIssuers(deps.log, by)
      const setting = { tenantId, limitId, currency, limit, reason, by: person, ...keyed }
      const { changed, position, proposal } = await setCreditLimit(depsOf(deps, by), setting)
      await shown(deps, proposal === undefined ? 'ledger' : 'proposals', position)
      if (proposal !== undefined) return { proposal, changed }
      return { id: limitId, changed }
    },
    adjust: async (adminScope, by, input) => {
      requireOperator(adminScope)
      requireWithin(adminScope, input.tenantId)
      const { id: adjustmentId, keyed } = named('adjustment', input)
      const { tenantId, amount, reason, code } = input
      const line = await lineOf(deps, tenantId, input.lineId)
      const { currency } = line
      const correction = { kind: 'line', line } as const
      const terms = { tenantId, adjustmentId, currency, amount, correction, reason, code }
      const adjustment = { ...terms, ...(await posterOf(deps, by)), ...keyed }
      const done = await postAdjustment(depsOf(deps, by), adjustment).catch((error: unknown) => {
        // The id of another adjustment or grant: the error names this request's member.
        if (!isDomainError(error, 'posting_id_taken')) throw error
        throw new DomainError('adjustment_id_taken', error.message, {})
      })
      const { changed, position, proposal } = done
      await shown(deps, proposal === undefined ? 'ledger' : 'proposals', position)
      if (proposal !== undefined) return { proposal, changed }
      return { id: adjustmentId, changed, currency, net: await netOf(deps, line) }
    },
  }
}

/** Computes the price of a line after all adjustments so far: an exact decimal. */
async function netOf(
  deps: ManagementDeps,
  { tenantId, lineId, amount }: Awaited<ReturnType<typeof lineOf>>,
) {
  const { correctable } = await readAccountState(deps, tenantId)
  return formatAmount(parseAmount(amount) - correctedPico(correctable, { kind: 'line', lineId }))
}

/**
 * A line of the tenant, also one that was settled a moment ago. @throws DomainError `line_not_found`,
 * also for a line of another tenant
 */
export async function lineOf(deps: ManagementDeps, tenantId: string, lineId: string) {
  const look = () => lineFacts(deps.db, lineId)
  const line = (await look()) ?? (await requireCaughtUp(deps, 'ledger').then(look))
  if (line?.tenantId === tenantId) return line
  throw new DomainError('line_not_found', 'The tenant has no such line', {})
}

function named(posting: PostingKind, name: PostingName & { readonly tenantId: string }) {
  if (name.key === undefined) return { id: name.id, keyed: {} }
  const { id, keyHash } = keyedPosting(posting, name.tenantId, name.key)
  return { id: name.id ?? id, keyed: { keyHash } }
}

function notFound(hint = ''): never {
  throw new DomainError('tenant_not_found', `The tenant does not exist${hint}`, {})
}
