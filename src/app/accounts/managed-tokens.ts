import type { ServedModel } from '../../domain/catalog/catalog.ts'
import { countTokens, hasUser, listTokens } from '../../../projections/access/query.ts'
import { namedAddresses } from '../../domain/token/addresses.ts'
import { type AskedBounds, inheritedBounds, requireWithin } from '../../domain/token/bounds.ts'
import type { TokenChanges } from '../../domain/token/changes.ts'
import type { IssuedToken } from '../../domain/token/decider.ts'
import type { DefaultTokenLimits } from '../../domain/token/limits.ts'
import { DomainError } from '../../kernel/errors.ts'
import { isTokenId } from '../../kernel/ids.ts'
import { membersGiven } from '../../kernel/json.ts'
import {
  changeToken,
  disableToken,
  issueToken,
  namedModels,
  rotateToken,
  type IssueTokenInput,
} from './account-commands.ts'
import { requireUsers } from './users.ts'
import { type Actor, depsOf, type ManagementDeps, shown } from './management.ts'
import { findTenant } from './managed-tenants.ts'
import { checkTokenModels, createKnownModels } from './known-models.ts'
import { requireCaughtUp } from '../read-models/catch-up.ts'
import { isWithin, type AdminScope, requireIssuable, requireManageable } from './admin-scope.ts'
import { disableIssued, type IssuedCount } from './issued-tokens.ts'
import {
  type KnownToken,
  knownToken,
  readToken,
  type ShownToken,
  shownTokens,
} from './known-token.ts'

/** A token and its secret, which is shown only once. */
export interface ShownSecret {
  readonly token: ShownToken
  readonly secret: string
}

/** A token to issue; an absent bound is inherited from its issuer. */
export type NewToken = Omit<IssueTokenInput, keyof AskedBounds | 'issuedBy'> & AskedBounds

/** The result, with warnings about values that may not be intended. */
type Warned<T> = T & { readonly warnings: readonly string[] }

interface TokenPage {
  readonly tenantId: string | undefined
  readonly userId: string | undefined
  /** The token that issued them. */
  readonly issuedBy?: string | undefined
  /** Id of the last token on the page before. */
  readonly after: string | undefined
  readonly limit: number
}

/**
 * Tokens as the bearer of a token may manage them. A token outside the scope is `token_not_found`,
 * exactly like a missing one (P8); one with more rights than its manager, and any widening, is
 * `scope_denied`.
 */
export interface ManagedTokens {
  /** In the order of issue, with everything the log had at the request. */
  readonly list: (adminScope: AdminScope, page: TokenPage) => Promise<readonly ShownToken[]>
  readonly find: (adminScope: AdminScope, tokenId: string) => Promise<ShownToken>
  readonly issue: (
    adminScope: AdminScope,
    by: Actor,
    input: NewToken,
  ) => Promise<Warned<ShownSecret>>
  /** A repetition changes nothing. */
  readonly change: (
    adminScope: AdminScope,
    by: Actor,
    input: {
      readonly tokenId: string
      readonly changes: TokenChanges
      readonly reason?: string | undefined
    },
  ) => Promise<Warned<{ readonly token: ShownToken }>>
  readonly rotate: (
    adminScope: AdminScope,
    by: Actor,
    input: {
      readonly tokenId: string
      readonly overlapMs: number
      /** End of the secret that was looked at; another one by now is `token_secret_reused`. */
      readonly expectedLastFour?: string
      readonly reason?: string | undefined
    },
  ) => Promise<ShownSecret>
  /**
   * Disables a token immediately, and on request the tokens that it issued; a repetition disables
   * those issued meanwhile.
   */
  readonly disable: (
    adminScope: AdminScope,
    by: Actor,
    input: {
      readonly tokenId: string
      readonly withIssued: boolean
      /** Why; absent: the log says that an administrator, or the user, disabled it. */
      readonly reason?: string | undefined
    },
  ) => Promise<{ readonly token: ShownToken; readonly issued: IssuedCount }>
}

interface TokenDeps extends ManagementDeps {
  readonly defaultLimits: DefaultTokenLimits
  readonly served: readonly ServedModel[]
}

/** @throws the codes of the token decider, of the log and of the database; `read_model_behind` */
export function createManagedTokens(deps: TokenDeps): ManagedTokens {
  const known = createKnownModels(deps)
  return {
    find: (adminScope, tokenId) => findToken(deps, adminScope, tokenId),
    list: async (adminScope, page) => {
      const owners = narrowed(adminScope, page)
      if (owners === undefined) return []
      await requireCaughtUp(deps, 'access')
      await requireOwners(deps, adminScope, owners)
      return shownTokens(deps.db, await listTokens(deps.db, { ...page, ...owners }))
    },
    issue: async (adminScope, by, input) => {
      await requireIssue(deps, adminScope, input)
      const bounded = await withinIssuer(deps, adminScope, by, input)
      const warnings = await checkTokenModels(known, input.models ?? undefined)
      const { tokenId, secret, position } = await issueToken(depsOf(deps, by), bounded)
      // A person who is invited may sign in at once, and is looked up there.
      if (input.subject !== undefined) await shown(deps, 'access', position)
      return { token: await findToken(deps, adminScope, tokenId), secret, warnings }
    },
    change: async (adminScope, by, { tokenId, changes, reason }) => {
      await manageable(deps, adminScope, tokenId)
      const warnings = await checkTokenModels(known, changes.models)
      const bound =
        adminScope.kind === 'user'
          ? { onlyNarrower: deps.defaultLimits }
          : { manager: await requireManager(deps, by) }
      await changeToken(depsOf(deps, by), { tokenId, changes, reason, ...bound })
      return { token: await findToken(deps, adminScope, tokenId), warnings }
    },
    rotate: async (adminScope, by, { tokenId, ...input }) => {
      const { kind } = await manageable(deps, adminScope, tokenId)
      const manager = await requireManager(deps, by)
      const asked = { tokenId, kind, manager, rotatedBy: by.tokenId, ...input }
      const { secret } = await rotateToken(depsOf(deps, by), asked)
      return { token: await findToken(deps, adminScope, tokenId), secret }
    },
    disable: async (adminScope, by, { tokenId, withIssued, reason: given }) => {
      await manageable(deps, adminScope, tokenId)
      const reason =
        given ??
        (adminScope.kind === 'user' ? 'disabled by its user' : 'disabled by an administrator')
      await disableToken(depsOf(deps, by), { tokenId, reason })
      const issued = await disableIssued(depsOf(deps, by), deps.db, {
        tokenId,
        reason: withIssued ? reason : undefined,
        mayDisable: (token) => isWithin(adminScope, token),
      })
      return { token: await findToken(deps, adminScope, tokenId), issued }
    },
  }
}

/** Reads it from the log, so that a change that any replica made a moment ago counts. */
async function findToken(
  { log, db }: ManagementDeps,
  adminScope: AdminScope,
  tokenId: string,
): Promise<ShownToken> {
  const issued = isTokenId(tokenId) ? await readToken(log, tokenId) : undefined
  const token = issued && knownToken(tokenId, issued)
  const [shown] =
    token !== undefined && isWithin(adminScope, token) ? await shownTokens(db, [token]) : []
  if (shown === undefined) throw new DomainError('token_not_found', 'the token does not exist', {})
  return shown
}

async function manageable(
  deps: ManagementDeps,
  adminScope: AdminScope,
  tokenId: string,
): Promise<KnownToken> {
  const token = await findToken(deps, adminScope, tokenId)
  requireManageable(adminScope, token)
  return token
}

/**
 * Reads the token of the request from the log, so that a change a moment ago applies.
 * @throws DomainError `scope_denied`
 */
async function requireManager({ log }: ManagementDeps, { tokenId }: Actor): Promise<IssuedToken> {
  const manager = await readToken(log, tokenId)
  if (manager !== undefined && manager.disabledAt === undefined) return manager
  throw new DomainError('scope_denied', 'The token of this request has been disabled', {})
}

/**
 * The token to issue, with the bounds of its issuer where it has none.
 * @throws DomainError `scope_denied` naming the bound in which it would be wider than its issuer
 */
async function withinIssuer(
  deps: TokenDeps,
  adminScope: AdminScope,
  by: Actor,
  { models, addresses, expiresAt, limits, role, ...facts }: NewToken,
): Promise<IssueTokenInput> {
  const issuer = await requireManager(deps, by)
  const bounds = inheritedBounds(issuer, {
    ...membersGiven({ expiresAt, limits, role }),
    ...(models === undefined ? {} : { models: models && namedModels(deps, models) }),
    ...(addresses === undefined ? {} : { addresses: addresses && namedAddresses(addresses) }),
  })
  requireWithin(issuer, bounds, {
    words: 'of a token may not be wider than that of the token that issues it',
    ...(adminScope.kind === 'user' ? { defaults: deps.defaultLimits } : {}),
  })
  const isLimited = Object.keys(bounds.limits).length > 0
  const given = membersGiven({ ...bounds, limits: isLimited ? bounds.limits : undefined })
  return { ...facts, ...given, issuedBy: by.tokenId }
}

/** @throws DomainError where a manager of this scope may not issue that one */
async function requireIssue(
  deps: TokenDeps,
  adminScope: AdminScope,
  input: Parameters<ManagedTokens['issue']>[2],
): Promise<void> {
  const { tenantId, userId, scope } = input
  if (!isWithin(adminScope, input))
    throw new DomainError('tenant_not_found', 'The tenant does not exist', {})
  requireIssuable(adminScope, { kind: input.kind, scope })
  const named = scope?.level === 'specified_users' ? scope.userIds : []
  await requireUsers(deps, tenantId, [userId, ...named])
  await requireRoom(deps, input)
}

/** Tokens of one user that are not disabled; concurrent requests may exceed it. */
const MAX_USER_TOKENS = 1_000

/** @throws DomainError `token_bound_reached` */
async function requireRoom(
  { db }: ManagementDeps,
  owner: { readonly tenantId: string; readonly userId: string },
): Promise<void> {
  if ((await countTokens(db, owner)) < MAX_USER_TOKENS) return
  throw new DomainError(
    'token_bound_reached',
    `a user has at most ${MAX_USER_TOKENS} tokens: disable one first`,
    {},
  )
}

/**
 * Without this check, the list of a missing tenant or user would be empty, like that of one without
 * tokens.
 * @throws DomainError `tenant_not_found`, `user_not_found`
 */
async function requireOwners(
  deps: ManagementDeps,
  adminScope: AdminScope,
  { tenantId, userId }: Pick<TokenPage, 'tenantId' | 'userId'>,
): Promise<void> {
  if (adminScope.kind === 'user') return
  if (tenantId !== undefined) await findTenant(deps, adminScope, tenantId)
  if (userId !== undefined && !(await hasUser(deps.db, { userId, tenantId })))
    throw new DomainError('user_not_found', `there is no user ${userId}`, {})
}

/** The owners whose tokens of a list are in scope; undefined: none. */
function narrowed(
  adminScope: AdminScope,
  { tenantId, userId }: TokenPage,
): Pick<TokenPage, 'tenantId' | 'userId'> | undefined {
  if (adminScope.kind === 'all') return { tenantId, userId }
  if (adminScope.kind === 'user')
    return { tenantId: adminScope.tenantId, userId: adminScope.userId }
  if (tenantId !== undefined && tenantId !== adminScope.tenantId) return undefined
  return { tenantId: adminScope.tenantId, userId }
}
