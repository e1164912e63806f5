import type { ServedModel } from '../../domain/catalog/catalog.ts'
import { countTokens, hasUser, listTokens } from '../../../projections/access/query.ts'
import { requireNarrower, type TokenChanges } from '../../domain/token/changes.ts'
import { tokenDecider } from '../../domain/token/decider.ts'
import { type TokenEvent, tokenStream } from '../../domain/token/events.ts'
import type { DefaultTokenLimits } from '../../domain/token/limits.ts'
import { DomainError } from '../../kernel/errors.ts'
import { isTokenId } from '../../kernel/ids.ts'
import {
  changeToken,
  disableToken,
  issueToken,
  requireUsers,
  rotateToken,
  type IssueTokenInput,
} from './bootstrap.ts'
import { type Actor, depsOf, type ManagementDeps } from './management.ts'
import { findTenant } from './managed-tenants.ts'
import { checkTokenModels, createKnownModels } from './known-models.ts'
import { requireCaughtUp } from '../read-models/catch-up.ts'
import { isWithin, type AdminScope, requireIssuable, requireManageable } from './admin-scope.ts'
import { type KnownToken, knownToken, type ShownToken, shownTokens } from './known-token.ts'

/** A token and its secret, which is shown only once. */
export interface ShownSecret {
  readonly token: ShownToken
  readonly secret: string
}

/** The result, with warnings about what may not be intended. */
type Warned<T> = T & { readonly warnings: readonly string[] }

interface TokenPage {
  readonly tenantId: string | undefined
  readonly userId: string | undefined
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
    input: IssueTokenInput,
  ) => Promise<Warned<ShownSecret>>
  /** A repetition changes nothing. */
  readonly change: (
    adminScope: AdminScope,
    by: Actor,
    input: { readonly tokenId: string; readonly changes: TokenChanges },
  ) => Promise<Warned<{ readonly token: ShownToken }>>
  readonly rotate: (
    adminScope: AdminScope,
    by: Actor,
    input: { readonly tokenId: string; readonly overlapMs: number },
  ) => Promise<ShownSecret>
  /** Disables it at once; a repetition changes nothing. */
  readonly disable: (adminScope: AdminScope, by: Actor, tokenId: string) => Promise<ShownToken>
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
      const warnings = await checkTokenModels(known, input.models)
      const { tokenId, secret } = await issueToken(depsOf(deps, by), input)
      return { token: await findToken(deps, adminScope, tokenId), secret, warnings }
    },
    change: async (adminScope, by, { tokenId, changes }) => {
      await manageable(deps, adminScope, tokenId)
      const warnings = await checkTokenModels(known, changes.models)
      const bound = adminScope.kind === 'user' ? { onlyNarrower: deps.defaultLimits } : {}
      await changeToken(depsOf(deps, by), { tokenId, changes, ...bound })
      return { token: await findToken(deps, adminScope, tokenId), warnings }
    },
    rotate: async (adminScope, by, { tokenId, overlapMs }) => {
      const { kind } = await manageable(deps, adminScope, tokenId)
      const { secret } = await rotateToken(depsOf(deps, by), { tokenId, kind, overlapMs })
      return { token: await findToken(deps, adminScope, tokenId), secret }
    },
    disable: async (adminScope, by, tokenId) => {
      await manageable(deps, adminScope, tokenId)
      const reason =
        adminScope.kind === 'user' ? 'disabled by its user' : 'disabled by an administrator'
      await disableToken(depsOf(deps, by), { tokenId, reason })
      return findToken(deps, adminScope, tokenId)
    },
  }
}

/** Reads it from the log, so that a change that any replica made a moment ago counts. */
async function findToken(
  { log, db }: ManagementDeps,
  adminScope: AdminScope,
  tokenId: string,
): Promise<ShownToken> {
  const token = isTokenId(tokenId) ? await readToken(log, tokenId) : undefined
  const [shown] =
    token !== undefined && isWithin(adminScope, token) ? await shownTokens(db, [token]) : []
  if (shown === undefined) throw new DomainError('token_not_found', 'the token does not exist', {})
  return shown
}

async function readToken(
  log: ManagementDeps['log'],
  tokenId: string,
): Promise<KnownToken | undefined> {
  const events = await log.readStream(tokenStream(tokenId))
  const state = (events as readonly TokenEvent[]).reduce(tokenDecider.evolve, tokenDecider.initial)
  return state.phase === 'none' ? undefined : knownToken(tokenId, state)
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
  await requireUsers(deps.log, tenantId, [userId, ...named])
  if (adminScope.kind === 'user')
    requireNarrower(unbound, { ...unbound, ...input }, deps.defaultLimits)
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

/** Values of what the request does not set. */
const unbound = {
  limits: {},
  models: undefined,
  addresses: undefined,
  expiresAt: undefined,
} as const

/**
 * Without this check, the list of a missing tenant or user would be empty, like one without tokens.
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
