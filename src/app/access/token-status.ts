import { findToken } from '../../../projections/access/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { openTasks } from '../../../projections/tasks/query.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { taskLimitsOf, taskOwnerOf } from '../spending/throttle/concurrent-tasks.ts'
import type { HolderStatus, Throttle } from '../spending/throttle/throttle.ts'
import type { Principal } from './principal.ts'
import type { TenantAccess } from './tenant-access.ts'

/** Open tasks are counted up to this number. */
const MOST_COUNTED = 100_000

/** A token, with the limit status of its holders. Times are unix milliseconds. */
export interface TokenStatus {
  readonly tokenId: string
  readonly name: string
  readonly lastFour: string
  readonly tenantId: string
  readonly userId: string
  /** External model names it may use; undefined means all. */
  readonly models: readonly string[] | undefined
  /** Ranges of addresses (CIDR) it may be used from; undefined means from anywhere. */
  readonly addresses: readonly string[] | undefined
  readonly issuedAtMs: number
  readonly expiresAtMs: number | undefined
  /** The refusal of its calls and creations; undefined: its tenant and its user are not suspended. */
  readonly refused: Pick<DomainError, 'code' | 'message'> | undefined
  /** The limits of the token, its user and its tenant, if they have any. */
  readonly limits: readonly KeyLimits[]
}

/** The limit status of one holder. */
export interface KeyLimits extends HolderStatus {
  /** Tasks that have not ended; undefined when their number is not limited. */
  readonly tasks: number | undefined
}

/** Shows a token to its bearer. @throws what the database and the log throw */
export type ReadKey = (principal: Principal) => Promise<TokenStatus>

async function refusalOf(
  tenantAccess: Pick<TenantAccess, 'check'>,
  principal: Principal,
): Promise<DomainError | undefined> {
  try {
    await tenantAccess.check(principal, 'create')
    return undefined
  } catch (error) {
    if (isDomainError(error)) return error
    throw error
  }
}

export function createReadKey({
  db,
  throttle,
  tenantAccess,
}: {
  readonly db: Queryable
  readonly throttle: Pick<Throttle, 'holdersOf' | 'statusOf'>
  readonly tenantAccess: Pick<TenantAccess, 'check'>
}): ReadKey {
  const limitsOf = async (principal: Principal): Promise<readonly KeyLimits[]> => {
    const holders = await throttle.holdersOf(principal)
    const onTasks = taskLimitsOf(holders)
    const owners = onTasks.map(({ whose }) => taskOwnerOf(principal, whose))
    const { open } =
      owners.length === 0 ? { open: [] } : await openTasks(db, owners, [], MOST_COUNTED)
    return holders.map((holder) => {
      const at = onTasks.findIndex(({ holderId }) => holderId === holder.id)
      return { ...throttle.statusOf(holder), tasks: at < 0 ? undefined : open[at] }
    })
  }
  return async (principal) => {
    const { tokenId, tenantId, userId, models, addresses } = principal
    const token = await findToken(db, tokenId)
    // The token existed a moment ago, because it authenticated this request.
    if (token === undefined)
      throw new DomainError('read_model_behind', 'the token cannot be read at the moment', {})
    return {
      tokenId,
      name: token.name,
      lastFour: token.lastFour,
      tenantId,
      userId,
      models: models && [...models].toSorted(),
      addresses,
      issuedAtMs: token.issuedAtMs,
      expiresAtMs: token.expiresAtMs,
      refused: await refusalOf(tenantAccess, principal),
      limits: await limitsOf(principal),
    }
  }
}
