import type { Queryable } from '../../../projections/engine/queryable.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { DomainError } from '../../kernel/errors.ts'

/** A request that needs complete data waits this long for a read model. */
const CATCH_UP_MS = 3_000

/** Waits until a read model has all of the log now. @throws DomainError `read_model_behind` */
export async function requireCaughtUp(
  { db, log }: { readonly db: Queryable; readonly log: Pick<EventLog, 'endPosition'> },
  readModel: string,
): Promise<void> {
  const end = await log.endPosition()
  if (end === undefined || (await waitForPosition(db, readModel, end, CATCH_UP_MS))) return
  throw new DomainError('read_model_behind', 'the read model is behind the event log', {})
}
