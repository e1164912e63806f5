import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import type { ReadModels } from '../../app/read-models/read-models.ts'
import { DomainError } from '../../kernel/errors.ts'
import { RequestError } from '../kit/request-error.ts'
import type { QueryReads } from './reads.ts'

/** Maximum time for which a query as of a position waits for the read model to reach it. */
const CATCH_UP_MS = 3_000

/** A requested position, whose form the schema has checked. */
export function toPosition(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : BigInt(text)
}

/** The position of the log at which an answer from a read model is true. */
export function positionsOf(
  readModel: 'ledger' | 'timeline',
  deps: {
    readonly db: Queryable
    readonly logEnd: () => Promise<bigint | undefined>
    readonly readModels: Pick<ReadModels, 'requireCurrent'>
  },
): QueryReads['ledgerPosition'] {
  const { db, logEnd, readModels } = deps
  const reached = async (): Promise<bigint> =>
    (await readCheckpoint(db, readModel))?.position ?? -1n
  return async (asked) => {
    await readModels.requireCurrent(readModel)
    const position = await reached()
    if (asked === undefined) return position < 0n ? 0n : position
    if (asked <= position) return asked
    if (asked > ((await logEnd()) ?? -1n))
      throw new RequestError('parameter_invalid', 'as_of is beyond the end of the log', 'as_of')
    if (await waitForPosition(db, readModel, asked, CATCH_UP_MS)) return asked
    throw new DomainError('read_model_behind', `the ${readModel} has not reached this position`, {})
  }
}
