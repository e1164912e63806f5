import { waitForPosition } from '../../../projections/engine/wait.ts'
import { filePlace, listFiles } from '../../../projections/files/query.ts'
import { DomainError } from '../../kernel/errors.ts'
import { createRecentWrites, type RecentWrites } from '../access/recent-writes.ts'
import type { FileDeps } from './deps.ts'
import { findOwnFile, storeOf } from './own-file.ts'
import type { FileUseCases } from './types.ts'

/** A list waits this long for this process's writes; a further page for any process's. */
const CATCH_UP_MS = 1_500

/** Lists of files; `recent` gets the position of every write of this process. */
export function createFileList(deps: FileDeps): {
  readonly list: FileUseCases['list']
  readonly recent: RecentWrites
} {
  const { pool, log } = deps
  const recent = createRecentWrites()
  const reached = (position: bigint): Promise<boolean> =>
    waitForPosition(pool, 'files', position, CATCH_UP_MS)
  const placeOf = async (tenantId: string, fileId: string): Promise<string> => {
    const known = await filePlace(pool, tenantId, fileId)
    if (known !== undefined) return known
    const end = await log.endPosition()
    const isOurs = await findOwnFile(deps, { principal: { tenantId }, fileId }).then(
      () => true,
      () => false,
    )
    const place =
      isOurs && end !== undefined && (await reached(end))
        ? await filePlace(pool, tenantId, fileId)
        : undefined
    if (place !== undefined) return place
    throw new DomainError('invalid_request', '`after` must be the id of a file', { param: 'after' })
  }
  return {
    recent,
    list: async ({ principal: { tenantId }, purpose, order, after, limit }) => {
      storeOf(deps)
      await deps.readModels.requireCurrent('files')
      const written = recent.of(tenantId)
      if (written !== undefined && (await reached(written))) recent.projected(tenantId, written)
      const afterPlace = after === undefined ? undefined : await placeOf(tenantId, after)
      const filter = { tenantId, purpose, order, afterPlace, nowMs: deps.clock.nowMs() }
      const rows = await listFiles(pool, { ...filter, limit: limit + 1 })
      return { files: rows.slice(0, limit), hasMore: rows.length > limit }
    },
  }
}
