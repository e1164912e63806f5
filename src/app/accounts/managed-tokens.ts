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
import { type ByToken, depsOf, type ManagementDeps } from './management.ts'
import { findTenant } from './managed-tenants.ts'
import { checkTokenModels, createKnownModels } from './known-models.ts'
import { requireCaughtUp } from '../read-models/caught-up.ts'
import { isWithin, type Reach, requireIssuable, requireManageable } from './admin-scope.ts'
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
  readonly list: (reach: Reach, page: TokenPage) => Promise<readonly ShownToken[]>
  readonly find: (reach: Reach, tokenId: string) => Promise<ShownToken>
  readonly issue: (
    reach: Reach,
    by: ByToken,
    input: IssueTokenInput,
  ) => Promise<Warned<ShownSecret>>
  /** A repetition changes nothing. */
  readonly change: (
    reach: Reach,
    by: ByToken,
    input: { readonly tokenId: string; readonly changes: TokenChanges },
  ) => Promise<Warned<{ readonly token: ShownToken }>>
  readonly rotate: (
    reach: Reach,
    by: ByToken,
    input: { readonly tokenId: string; readonly overlapMs: number },
  ) => Promise<ShownSecret>
  /** Disables it at once; a repetition changes nothing. */
  readonly disable: (reach: Reach, by: ByToken, tokenId: string) => Promise<ShownToken>
}

interface TokenDeps extends ManagementDeps {
  readonly defaultLimits: DefaultTokenLimits
  readonly served: readonly ServedModel[]
}

/** @throws the codes of the token decider, of the log and of the database; `read_model_behind` */
export function createManagedTokens(deps: TokenDeps): ManagedTokens {
  const known = createKnownModels(deps)
  return {
    find: (reach, tokenId) => findToken(deps, reach, tokenId),
    list: async (reach, page) => {
      const owners = narrowed(reach, page)
      if (owners === undefined) return []
      await requireCaughtUp(deps, 'access')
      await requireOwners(deps, reach, owners)
      return shownTokens(deps.db, await listTokens(deps.db, { ...page, ...owners }))
    },
    issue: async (reach, by, input) => {
      await requireIssue(deps, reach, input)
      const warnings = await checkTokenModels(known, input.models)
      const { tokenId, secret } = await issueToken(depsOf(deps, by), input)
      return { token: await findToken(deps, reach, tokenId), secret, warnings }
    },
    change: async (reach, by, { tokenId, changes }) => {
      await manageable(deps, reach, tokenId)
      const warnings = await checkTokenModels(known, changes.models)
      const bound = reach.kind === 'user' ? { onlyNarrower: deps.defaultLimits } : {}
      await changeToken(depsOf(deps, by), { tokenId, changes, ...bound })
      return { token: await findToken(deps, reach, tokenId), warnings }
    },
    rotate: async (reach, by, { tokenId, overlapMs }) => {
      const { kind } = await manageable(deps, reach, tokenId)
      const { secret } = await rotateToken(depsOf(deps, by), { tokenId, kind, overlapMs })
      return { token: await findToken(deps, reach, tokenId), secret }
    },
    disable: async (reach, by, tokenId) => {
      await manageable(deps, reach, tokenId)
      const reason = reach.kind === 'user' ? 'disabled by its user' : 'disabled by an administrator'
      await disableToken(depsOf(deps, by), { tokenId, reason })
      return findToken(deps, reach, tokenId)
    },
  }
}

/** Reads it from the log, so that a change that any replica made a moment ago counts. */
async function findToken(
  { log, db }: ManagementDeps,
  reach: Reach,
  tokenId: string,
): Promise<ShownToken> {
  const token = isTokenId(tokenId) ? await readToken(log, tokenId) : undefined
  const [shown] =
    token !== undefined && isWithin(reach, token) ? await shownTokens(db, [token]) : []
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
  reach: Reach,
  tokenId: string,
): Promise<KnownToken> {
  const token = await findToken(deps, reach, tokenId)
  requireManageable(reach, token)
  return token
}

/** @throws DomainError where a token of this reach may not issue that one */
async function requireIssue(
  deps: TokenDeps,
  reach: Reach,
  input: Parameters<ManagedTokens['issue']>[2],
): Promise<void> {
  const { tenantId, userId, scope } = input
  if (!isWithin(reach, input))
    throw new DomainError('tenant_not_found', 'The tenant does not exist', {})
  requireIssuable(reach, { kind: input.kind, scope })
  const named = scope?.level === 'specified_users' ? scope.userIds : []
  await requireUsers(deps.log, tenantId, [userId, ...named])
  if (reach.kind === 'user') requireNarrower(unbound, { ...unbound, ...input }, deps.defaultLimits)
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
  reach: Reach,
  { tenantId, userId }: Pick<TokenPage, 'tenantId' | 'userId'>,
): Promise<void> {
  if (reach.kind === 'user') return
  if (tenantId !== undefined) await findTenant(deps, reach, tenantId)
  if (userId !== undefined && !(await hasUser(deps.db, { userId, tenantId })))
    throw new DomainError('user_not_found', `there is no user ${userId}`, {})
}

/** The owners whose tokens of a list are in scope; undefined: none. */
function narrowed(
  reach: Reach,
  { tenantId, userId }: TokenPage,
): Pick<TokenPage, 'tenantId' | 'userId'> | undefined {
  if (reach.kind === 'all') return { tenantId, userId }
  if (reach.kind === 'user') return { tenantId: reach.tenantId, userId: reach.userId }
  if (tenantId !== undefined && tenantId !== reach.tenantId) return undefined
  return { tenantId: reach.tenantId, userId }
}
