import { catalog } from '../families/index.ts'
import { findToken, listTokens } from '../../projections/access/query.ts'
import {
  changeToken,
  changeTokenLimits,
  disableToken,
  issueToken,
  requireUsers,
  rotateToken,
} from '../app/accounts/account-commands.ts'
import { checkTokenModels, createKnownModels } from '../app/accounts/known-models.ts'
import { disableIssued } from '../app/accounts/issued-tokens.ts'
import { shownTokens } from '../app/accounts/known-token.ts'
import { tokenPrefixes, type QueryScope, type TokenKind } from '../domain/token/events.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { type ActorOption, depsOf, LIST_LIMIT } from './tenants.ts'
import { CommandError, note, print, show, table, toJson } from './output.ts'
import { parseTime } from './replay/moment.ts'
import type { Session } from './session.ts'
import { readServedModels } from './upstreams.ts'
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
      addresses?: string
      expires?: string
      json?: boolean
    },
): Promise<void> {
  const kind = kindOf(options.kind)
  const scope = scopeOf(kind, options.scope, options.users)
  const limits = limitsOf(options)
  const named = scope?.level === 'specified_users' ? scope.userIds : []
  const deps = depsOf(session, options)
  await requireUsers(deps, options.tenant, [options.user, ...named])
  const issued = await issueToken(deps, {
    tenantId: options.tenant,
    userId: options.user,
    kind,
    name: options.name ?? `${kind} token`,
    ...(scope ? { scope } : {}),
    ...(options.models ? { models: await modelsOf(session, options.models) } : {}),
    ...(options.addresses ? { addresses: splitList(options.addresses) } : {}),
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

/** `tollgate token update` */
export async function updateTokenCommand(
  session: Session,
  tokenId: string,
  options: ActorOption & {
    name?: string
    models?: string
    addresses?: string
    expires?: string
    json?: boolean
  },
): Promise<void> {
  const { name, models, addresses, expires } = options
  if ((name ?? models ?? addresses ?? expires) === undefined)
    throw new CommandError('name what to change: --name, --models, --addresses or --expires')
  const { position } = await changeToken(depsOf(session, options), {
    tokenId,
    changes: {
      ...(name === undefined ? {} : { name }),
      ...(models === undefined
        ? {}
        : { models: models === 'all' ? null : await modelsOf(session, models) }),
      ...(addresses === undefined
        ? {}
        : { addresses: addresses === 'any' ? null : splitList(addresses) }),
      ...(expires === undefined
        ? {}
        : { expiresAt: expires === 'never' ? null : expiryOf(expires) }),
    },
  })
  await session.projected('access', position)
  const token = await findToken(session.pool, tokenId)
  show(
    {
      tokenId,
      name: token?.name,
      models: token?.models?.join(',') ?? 'all',
      addresses: token?.addresses?.join(',') ?? 'any',
      expires: token?.expiresAtMs === undefined ? 'never' : toTimestamp(token.expiresAtMs),
    },
    options.json,
  )
}

export async function disableTokenCommand(
  session: Session,
  tokenId: string,
  options: ActorOption & { reason: string; issued?: boolean; json?: boolean },
): Promise<void> {
  const deps = depsOf(session, options)
  const { reason } = options
  const { position } = await disableToken(deps, { tokenId, reason })
  const { disabled, active } = await disableIssued(deps, session.pool, {
    tokenId,
    reason: options.issued === true ? reason : undefined,
    mayDisable: () => true,
  })
  if (active > 0) note(`${active} tokens that it issued still work: --issued disables them`)
  show({ tokenId, disabled: true, issuedDisabled: disabled, issuedActive: active }, options.json)
  await session.projected('access', position)
}

export async function listTokensCommand(
  session: Session,
  options: { tenant: string; json?: boolean },
): Promise<void> {
  const page = { tenantId: options.tenant, limit: LIST_LIMIT }
  const tokens = await shownTokens(session.pool, await listTokens(session.pool, page))
  if (options.json) return print(toJson(tokens))
  const rows = tokens.map((t) => [
    t.tokenId,
    t.kind,
    `…${t.lastFour}`,
    t.name,
    t.userId,
    t.issuedBy ?? '',
    t.lastUsedAtMs === undefined ? 'never' : toTimestamp(t.lastUsedAtMs),
    limitsText(t.limits),
  ])
  const titles = ['token', 'kind', 'ends', 'name', 'user', 'issued by', 'last used', 'limits']
  for (const line of table(titles, rows)) print(line)
}

/** Where it is not known which models are served, a name may be that of one of them. */
async function modelsOf({ config, pool }: Session, list: string): Promise<string[]> {
  const names = splitList(list)
  const served = await readServedModels(config)
  const known = createKnownModels({ db: pool, catalog, clock: systemClock, served: served ?? [] })
  if (served !== undefined)
    for (const warning of await checkTokenModels(known, names)) note(warning)
  else
    for (const name of await known.unknown(names))
      note(`which models are served is not known here; \`${name}\`${await known.hint(name)}`)
  return names
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

/** By default a query token reads its user's data and an admin token is an operator's. */
function scopeOf(
  kind: TokenKind,
  named: string | undefined,
  users: string | undefined,
): QueryScope | undefined {
  if (kind !== 'query' && kind !== 'admin') return undefined
  const level = named ?? (kind === 'admin' ? 'all_tenants' : 'current_user')
  switch (level) {
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
