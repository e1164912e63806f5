import { listTenants } from '../../projections/access/query.ts'
import { balances } from '../../projections/ledger/query.ts'
import {
  addUser,
  grantCredit,
  openTenant,
  setCreditLimit,
  type AccessDeps,
} from '../app/access/bootstrap.ts'
import { accountStream, type AccountEventData } from '../domain/account/events.ts'
import { systemClock } from '../kernel/clock.ts'
import { currencies, type Currency } from '../kernel/money.ts'
import { CommandError, note, print, show, table, toJson } from './output.ts'
import type { Session } from './session.ts'

type User = Pick<AccountEventData<'UserAdded'>, 'userId' | 'name'>

/** Most rows a list shows. */
export const LIST_LIMIT = 1_000

/** What commands that change access work with. */
export function depsOf({ log }: Session): AccessDeps {
  return { log, clock: systemClock, correlationId: 'cli' }
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
  show({ tenantId, userId: user.userId }, options.json)
  await session.projected('access', user.position)
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
  show({ tenantId: options.tenant, userId: user.userId }, options.json)
  await session.projected('access', user.position)
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
  show({ grantId }, options.json)
  await session.projected('ledger', position)
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
  show({ tenantId: options.tenant, currency, limit }, options.json)
  await session.projected('ledger', position)
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
export async function usersOf({ log }: Session, tenantId: string): Promise<readonly User[]> {
  const events = await log.readStream(accountStream(tenantId))
  if (events.length === 0) throw new CommandError(`no tenant ${tenantId}`)
  return events.flatMap((event) => (event.type === 'UserAdded' ? [event.data] : []))
}

function currencyOf(text: string): Currency {
  const currency = currencies.find((known) => known === text)
  if (!currency) throw new CommandError(`--currency must be one of ${currencies.join(', ')}`)
  return currency
}
