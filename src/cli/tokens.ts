import { findToken, listTokens } from '../../projections/access/query.ts'
import {
  changeTokenLimits,
  disableToken,
  issueToken,
  rotateToken,
} from '../app/accounts/bootstrap.ts'
import { findTaskModel } from '../domain/families/tasks.ts'
import { tokenPrefixes, type QueryScope, type TokenKind } from '../domain/token/events.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { type ActorOption, depsOf, LIST_LIMIT, usersOf } from './access.ts'
import { CommandError, note, print, show, table, toJson } from './output.ts'
import { parseTime } from './replay/moment.ts'
import type { Session } from './session.ts'
import { limitChangesOf, limitsOf, limitsText, type LimitOptions } from './token-limits.ts'

export async function issueTokenCommand(
  session: Session,
  options: LimitOptions &
    ActorOption & {
      tenant: string
      user: string
      kind: string
      name?: string
      scope?: string
      users?: string
      models?: string
      expires?: string
      json?: boolean
    },
): Promise<void> {
  const kind = kindOf(options.kind)
  const scope = kind === 'query' ? scopeOf(options.scope, options.users) : undefined
  const limits = limitsOf(options)
  const named = scope?.level === 'specified_users' ? scope.userIds : []
  await requireUsers(session, options.tenant, [options.user, ...named])
  const issued = await issueToken(depsOf(session, options), {
    tenantId: options.tenant,
    userId: options.user,
    kind,
    name: options.name ?? `${kind} token`,
    ...(scope ? { scope } : {}),
    ...(options.models ? { models: modelsOf(options.models) } : {}),
    ...(limits ? { limits } : {}),
    ...(options.expires ? { expiresAt: expiryOf(options.expires) } : {}),
  })
  note('the secret is shown this once')
  show({ tokenId: issued.tokenId, secret: issued.secret }, options.json)
  await session.projected('access', issued.position)
}

export async function rotateTokenCommand(
  session: Session,
  tokenId: string,
  options: ActorOption & { overlap: string; json?: boolean },
): Promise<void> {
  const token = await findToken(session.pool, tokenId)
  if (!token) throw new CommandError(`no token ${tokenId}`)
  const overlapS = Number(options.overlap)
  if (!Number.isInteger(overlapS) || overlapS < 0)
    throw new CommandError('--overlap must be a whole number of seconds')
  const rotated = await rotateToken(depsOf(session, options), {
    tokenId,
    kind: token.kind,
    overlapMs: overlapS * 1_000,
  })
  note(`the secret is shown this once; the old one ends in ${overlapS} s`)
  show({ tokenId, secret: rotated.secret }, options.json)
  await session.projected('access', rotated.position)
}

/** `tollgate token limit` */
export async function limitTokenCommand(
  session: Session,
  tokenId: string,
  options: LimitOptions & ActorOption & { json?: boolean },
): Promise<void> {
  const changes = limitChangesOf(options)
  const { position } = await changeTokenLimits(depsOf(session, options), { tokenId, changes })
  await session.projected('access', position)
  const token = await findToken(session.pool, tokenId)
  show({ tokenId, limits: options.json ? token?.limits : limitsText(token?.limits) }, options.json)
}

export async function disableTokenCommand(
  session: Session,
  tokenId: string,
  options: ActorOption & { reason: string; json?: boolean },
): Promise<void> {
  const { position } = await disableToken(depsOf(session, options), {
    tokenId,
    reason: options.reason,
  })
  show({ tokenId, disabled: true }, options.json)
  await session.projected('access', position)
}

export async function listTokensCommand(
  session: Session,
  options: { tenant: string; json?: boolean },
): Promise<void> {
  const tokens = await listTokens(session.pool, { tenantId: options.tenant, limit: LIST_LIMIT })
  if (options.json) return print(toJson(tokens))
  const rows = tokens.map((t) => [
    t.tokenId,
    t.kind,
    `…${t.lastFour}`,
    t.name,
    t.userId,
    limitsText(t.limits),
  ])
  for (const line of table(['token', 'kind', 'ends', 'name', 'user', 'limits'], rows)) print(line)
}

/** A token of nobody could never be used and would look as if it could. */
async function requireUsers(
  session: Session,
  tenantId: string,
  userIds: readonly string[],
): Promise<void> {
  const users = new Set((await usersOf(session, tenantId)).map((user) => user.userId))
  const missing = userIds.filter((id) => !users.has(id))
  if (missing.length > 0)
    throw new CommandError(`tenant ${tenantId} has no user ${missing.join(', ')}`)
}

/** External names; an alias stands for its model, as it does in a call. */
function modelsOf(list: string): string[] {
  return splitList(list).map((name) => {
    const known = findTaskModel(name)?.name
    if (!known)
      note(`${name} is no model of a task; it will open a text model of exactly this name`)
    return known ?? name
  })
}

function expiryOf(text: string): string {
  const atMs = parseTime('--expires', text)
  if (atMs <= systemClock.nowMs()) throw new CommandError('--expires must not be past')
  return toTimestamp(atMs)
}

function kindOf(text: string): TokenKind {
  const kinds = Object.keys(tokenPrefixes) as TokenKind[]
  const kind = kinds.find((known) => known === text)
  if (!kind) throw new CommandError(`--kind must be one of ${kinds.join(', ')}`)
  return kind
}

function scopeOf(level: string | undefined, users: string | undefined): QueryScope {
  switch (level) {
    case undefined:
    case 'current_user':
      return { level: 'current_user' }
    case 'specified_users':
      if (!users) throw new CommandError('--scope specified_users needs --users a,b')
      return { level, userIds: splitList(users) }
    case 'all_users':
    case 'all_tenants':
      return { level }
    default:
      throw new CommandError(
        '--scope must be current_user, specified_users, all_users or all_tenants',
      )
  }
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
