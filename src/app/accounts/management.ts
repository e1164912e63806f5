import type { Queryable } from '../../../projections/engine/queryable.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import type { Person } from '../../domain/account/postings.ts'
import type { TokenRole } from '../../domain/token/events.ts'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { AccountCommandDeps } from './account-commands.ts'

/** The dependencies of managing accounts and tokens by tokens. */
export interface ManagementDeps {
  readonly log: EventLog
  readonly catalog: Catalog
  readonly db: Queryable
  readonly clock: Clock
}

/** The person, by a token, and the request that make a change: recorded with its events. */
export interface Actor extends Person {
  /** The role of the token; undefined: none. */
  readonly role: TokenRole | undefined
  readonly requestId: string
}

/** The read models from which managed objects are shown. */
type ManagedReadModel = 'access' | 'ledger' | 'prices' | 'proposals' | 'statements'

/** After a change, the caller waits this long to see it. */
const SHOWN_MS = 3_000

export function depsOf(
  { log, db, catalog, clock }: ManagementDeps,
  by: Actor,
): AccountCommandDeps & ManagementDeps {
  return { log, db, catalog, clock, correlationId: by.requestId, actor: by.tokenId }
}

/** The person of an actor, for the event of a posting. */
export const personOf = ({ tenantId, userId, tokenId }: Actor): Person => ({
  tenantId,
  userId,
  tokenId,
})

/** Waits until a read model shows a durable write; gives up without an error. */
export async function shown(
  { db }: ManagementDeps,
  readModel: ManagedReadModel,
  position: bigint | undefined,
): Promise<void> {
  if (position === undefined) return
  await waitForPosition(db, readModel, position, SHOWN_MS).catch(() => false)
}
