import { findToken, listTenants, listTokens } from '../../projections/access/query.ts'
import { balances } from '../../projections/ledger/query.ts'
import {
  addUser,
  disableToken,
  grantCredit,
  issueToken,
  openTenant,
  rotateToken,
  setCreditLimit,
  type AccessDeps,
} from '../app/access/bootstrap.ts'
import { accountStream, type AccountEventData } from '../domain/account/events.ts'
import { resolveVideoAModel } from '../domain/catalog/video-a.ts'
import { tokenPrefixes, type QueryScope, type TokenKind } from '../domain/token/events.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { currencies, type Currency } from '../kernel/money.ts'
import { CommandError, note, print, table, toJson } from './output.ts'
import { parseTime } from './replay/moment.ts'
import type { Session } from './session.ts'

type User = Pick<AccountEventData<'UserAdded'>, 'userId' | 'name'>

/** Most rows a list shows. */
const LIST_LIMIT = 1_000

function depsOf({ log }: Session): AccessDeps {
  return { log, clock: systemClock, correlationId: 'cli' }
}

/** Prints a result for machines or, member by member, for people. */
function show(result: Readonly<Record<string, unknown>>, json: boolean | undefined): void {
  if (json) return print(toJson(result))
  for (const [name, value] of Object.entries(result))
    if (value !== undefined) print(`${name}: ${typeof value === 'string' ? value : toJson(value)}`)
}

export async function openTenantCommand(
  session: Session,
  name: string,
  options: { id?: string; user?: string; json?: boolean },
): Promise<void> {
  const deps = depsOf(session)
  const { tenantId, position } = await openTenant(deps, {
    name,
    ...(options.id ? { tenantId: options.id } : {}),
  })
  const users = position === undefined ? await usersOf(session, tenantId) : []
  const [known] = users
  if (known !== undefined) {
    note('the tenant was open before')
    return show({ tenantId, userId: known.userId }, options.json)
  }
  const user = await addUser(deps, { tenantId, name: options.user ?? name })
  await session.projected('access', user.position)
  show({ tenantId, userId: user.userId }, options.json)
}

/** `tollgate tenant add-user` */
export async function addUserCommand(
  session: Session,
  name: string,
  options: { tenant: string; id?: string; json?: boolean },
): Promise<void> {
  const user = await addUser(depsOf(session), {
    tenantId: options.tenant,
    name,
    ...(options.id ? { userId: options.id } : {}),
  })
  await session.projected('access', user.position)
  show({ tenantId: options.tenant, userId: user.userId }, options.json)
}

/** `tollgate tenant users` */
export async function listUsersCommand(
  session: Session,
  options: { tenant: string; json?: boolean },
): Promise<void> {
  const users = await usersOf(session, options.tenant)
  if (options.json) return print(toJson(users))
  const rows = users.map((user) => [user.userId, user.name])
  for (const line of table(['user', 'name'], rows)) print(line)
}

export async function listTenantsCommand(
  session: Session,
  options: { json?: boolean },
): Promise<void> {
  const tenants = await listTenants(session.pool, { limit: LIST_LIMIT })
  if (options.json) return print(toJson(tenants))
  for (const line of table(
    ['tenant', 'name'],
    tenants.map((t) => [t.tenantId, t.name]),
  ))
    print(line)
}

export async function issueTokenCommand(
  session: Session,
  options: {
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
  const named = scope?.level === 'specified_users' ? scope.userIds : []
  await requireUsers(session, options.tenant, [options.user, ...named])
  const issued = await issueToken(depsOf(session), {
    tenantId: options.tenant,
    userId: options.user,
    kind,
    name: options.name ?? `${kind} token`,
    ...(scope ? { scope } : {}),
    ...(options.models ? { models: modelsOf(options.models) } : {}),
    ...(options.expires ? { expiresAt: expiryOf(options.expires) } : {}),
  })
  await session.projected('access', issued.position)
  note('the secret is shown this once')
  show({ tokenId: issued.tokenId, secret: issued.secret }, options.json)
}

export async function rotateTokenCommand(
  session: Session,
  tokenId: string,
  options: { overlap: string; json?: boolean },
): Promise<void> {
  const token = await findToken(session.pool, tokenId)
  if (!token) throw new CommandError(`no token ${tokenId}`)
  const overlapS = Number(options.overlap)
  if (!Number.isInteger(overlapS) || overlapS < 0)
    throw new CommandError('--overlap must be a whole number of seconds')
  const rotated = await rotateToken(depsOf(session), {
    tokenId,
    kind: token.kind,
    overlapMs: overlapS * 1_000,
  })
  await session.projected('access', rotated.position)
  note(`the secret is shown this once; the old one ends in ${overlapS} s`)
  show({ tokenId, secret: rotated.secret }, options.json)
}

export async function disableTokenCommand(
  session: Session,
  tokenId: string,
  options: { reason: string; json?: boolean },
): Promise<void> {
  const { position } = await disableToken(depsOf(session), { tokenId, reason: options.reason })
  await session.projected('access', position)
  show({ tokenId, disabled: true }, options.json)
}

export async function listTokensCommand(
  session: Session,
  options: { tenant: string; json?: boolean },
): Promise<void> {
  const tokens = await listTokens(session.pool, { tenantId: options.tenant, limit: LIST_LIMIT })
  if (options.json) return print(toJson(tokens))
  const rows = tokens.map((t) => [t.tokenId, t.kind, `…${t.lastFour}`, t.name, t.userId])
  for (const line of table(['token', 'kind', 'ends', 'name', 'user'], rows)) print(line)
}

export async function grantCommand(
  session: Session,
  amount: string,
  options: { tenant: string; currency: string; reason: string; id?: string; json?: boolean },
): Promise<void> {
  const { grantId, position } = await grantCredit(depsOf(session), {
    tenantId: options.tenant,
    currency: currencyOf(options.currency),
    amount,
    reason: options.reason,
    ...(options.id ? { grantId: options.id } : {}),
  })
  await session.projected('ledger', position)
  show({ grantId }, options.json)
}

export async function limitCommand(
  session: Session,
  limit: string,
  options: { tenant: string; currency: string; json?: boolean },
): Promise<void> {
  const currency = currencyOf(options.currency)
  const { position } = await setCreditLimit(depsOf(session), {
    tenantId: options.tenant,
    currency,
    limit,
  })
  await session.projected('ledger', position)
  show({ tenantId: options.tenant, currency, limit }, options.json)
}

export async function balanceCommand(
  session: Session,
  options: { tenant: string; json?: boolean },
): Promise<void> {
  const found = await balances(session.pool, options.tenant)
  if (options.json) return print(toJson(found))
  const rows = found.map((b) => [b.currency, b.credit, b.settled, b.held, b.limit, b.available])
  for (const line of table(['currency', 'credit', 'settled', 'held', 'limit', 'available'], rows))
    print(line)
}

/** Straight from the log: what was added a moment ago counts. @throws CommandError without the tenant */
async function usersOf({ log }: Session, tenantId: string): Promise<readonly User[]> {
  const events = await log.readStream(accountStream(tenantId))
  if (events.length === 0) throw new CommandError(`no tenant ${tenantId}`)
  return events.flatMap((event) => (event.type === 'UserAdded' ? [event.data] : []))
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
    const known = resolveVideoAModel(name)?.name
    if (!known) note(`${name} is no video model; it will open a text model of exactly this name`)
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

function currencyOf(text: string): Currency {
  const currency = currencies.find((known) => known === text)
  if (!currency) throw new CommandError(`--currency must be one of ${currencies.join(', ')}`)
  return currency
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
