import { listTenants } from '../../projections/access/query.ts'
import { accountStream } from '../domain/account/events.ts'
import { didYouMean } from '../kernel/nearest-name.ts'
import { LIST_LIMIT } from './access.ts'
import { CommandError } from './output.ts'
import type { Session } from './session.ts'

/**
 * Checked in the log itself: a tenant opened a moment ago counts. @throws CommandError naming the
 * nearest
 */
export async function requireTenant(
  { log, pool }: Pick<Session, 'log' | 'pool'>,
  tenantId: string,
): Promise<void> {
  const [opened] = await log.readStream(accountStream(tenantId), { limit: 1 })
  if (opened !== undefined) return
  const tenants = await listTenants(pool, { limit: LIST_LIMIT })
  const hint = didYouMean(
    tenantId,
    tenants.map((one) => one.tenantId),
  )
  throw new CommandError(`there is no tenant ${tenantId}${hint}`)
}
