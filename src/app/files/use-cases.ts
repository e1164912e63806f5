import { Readable } from 'node:stream'
import { fileDecider, type FileCommand } from '../../domain/file/decider.ts'
import { fileStream } from '../../domain/file/events.ts'
import { executeCommand } from '../../eventlog/log/execute.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { isFileId, newFileId } from '../../kernel/ids.ts'
import { fileKey } from '../../storage/object-key.ts'
import type { Principal } from '../access/principal.ts'
import type { FileDeps } from './deps.ts'
import { createFileList } from './list.ts'
import { findOwnFile, openOwnFile, storeOf } from './own-file.ts'
import type { FileUseCases, KeptBody } from './types.ts'

/**
 * Files of tenants. Bytes are kept first and recorded then, deletions recorded first and carried out
 * then: whatever ends a process in between leaves bytes that no file has, and those are purged.
 */
export function createFileUseCases(deps: FileDeps): FileUseCases {
  const { log, clock, crashPoint, quota, throttle } = deps
  const { list, recent } = createFileList(deps)

  const execute = async (
    command: FileCommand,
    fileId: string,
    by: { readonly principal: Principal; readonly requestId: string },
  ): Promise<void> => {
    const { tenantId, tokenId } = by.principal
    const { position } = await executeCommand({
      log,
      stream: fileStream(fileId),
      decider: fileDecider,
      command,
      commandId: by.requestId,
      metadata: { correlationId: by.requestId, tenantId, tokenId },
      ...(command.kind === 'upload' ? { known: 'none' as const } : {}),
    })
    recent.note(tenantId, position)
  }

  const discard = async ({ fileId }: Pick<KeptBody, 'fileId'>): Promise<void> => {
    const quietly = (work: Promise<void>, what: string): Promise<void> =>
      work.catch((error: unknown) => deps.logger.warn({ err: error, fileId }, what))
    await quietly(storeOf(deps).remove(fileKey(fileId)), 'a file was left to be purged')
    await quietly(quota.free(fileId), 'a file that is gone is counted for up to an hour')
  }

  return {
    list,
    discard,
    keep: async (principal, body) => {
      const store = storeOf(deps)
      // With the log away it could not be recorded.
      await log.ready()
      const reserved = await throttle.request(principal)
      const fileId = newFileId(clock.nowMs())
      try {
        const place = await quota.take(principal.tenantId, fileId)
        let sizeBytes = 0
        const counted = async function* (): AsyncGenerator<Uint8Array, void> {
          for await (const chunk of place.counted(body as AsyncIterable<Buffer>)) {
            sizeBytes += chunk.length
            yield chunk
          }
        }
        try {
          await store.put(fileKey(fileId), Readable.from(counted(), { objectMode: false }))
        } catch (error) {
          await discard({ fileId })
          throw error
        }
        crashPoint('file.after-object')
        return { fileId, sizeBytes, place }
      } finally {
        reserved?.release('failed')
      }
    },
    record: async ({ fileId, sizeBytes, place }, { principal, requestId, purpose, filename }) => {
      const { tenantId, userId, tokenId } = principal
      const nowMs = clock.nowMs()
      const expiresAtMs = nowMs + quota.limits.lifeMs
      const [uploadedAt, expiresAt] = [toTimestamp(nowMs), toTimestamp(expiresAtMs)]
      const facts = { fileId, tenantId, userId, tokenId, purpose, filename, sizeBytes }
      try {
        const file = { ...facts, uploadedAt, expiresAt }
        await execute({ kind: 'upload', file }, fileId, { principal, requestId })
      } catch (error) {
        if (!isDomainError(error, 'log_outcome_unknown')) await discard({ fileId })
        throw error
      }
      crashPoint('file.after-uploaded')
      // Without it the file is counted with as much as was reserved, for an hour at most.
      await place
        .keep(fileId)
        .catch((error: unknown) => deps.logger.warn({ err: error, fileId }, 'a quota is behind'))
      return {
        fileId,
        purpose,
        filename,
        sizeBytes,
        uploadedAtMs: fromTimestamp(uploadedAt),
        expiresAtMs,
      }
    },
    find: async (key) => {
      storeOf(deps)
      return findOwnFile(deps, key)
    },
    open: (key) => openOwnFile(deps, key),
    remove: async ({ principal, requestId, fileId }) => {
      storeOf(deps)
      // What is no id of ours names no stream.
      if (!isFileId(fileId)) throw new DomainError('file_not_found', 'the file does not exist', {})
      const { tenantId, tokenId } = principal
      const at = toTimestamp(clock.nowMs())
      const command: FileCommand = { kind: 'delete', fileId, tenantId, tokenId, at }
      await execute(command, fileId, { principal, requestId })
      crashPoint('file.after-deleted')
      await discard({ fileId })
    },
  }
}
