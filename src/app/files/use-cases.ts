import { Readable } from 'node:stream'
import { fileDecider, type FileCommand } from '../../domain/file/decider.ts'
import { fileStream } from '../../domain/file/events.ts'
import { executeCommand } from '../../eventlog/log/execute.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { isFileId, newFileId } from '../../kernel/ids.ts'
import { fileKey } from '../../storage/object-key.ts'
import type { Principal } from '../access/principal.ts'
import type { RecentWrites } from '../access/recent-writes.ts'
import type { FileDeps } from './deps.ts'
import { createFileList } from './list.ts'
import { findOwnFile, openOwnFile, storeOf } from './own-file.ts'
import type { FileUseCases, FileView, KeptBody } from './types.ts'
import { owned } from '../../platform/owned.ts'

/**
 * The files of tenants. Bytes are stored before the file is recorded, and a deletion is recorded
 * before the bytes are deleted. A process that dies in between leaves bytes without a file, which
 * the purge removes.
 */
export function createFileUseCases(deps: FileDeps): FileUseCases {
  const { list, recent } = createFileList(deps)
  const writeDeps = { ...deps, recent }
  return {
    list,
    discard: (kept) => discard(deps, kept),
    keep: (principal, body) => keep(deps, principal, body),
    record: (kept, file) => record(writeDeps, kept, file),
    find: async (key) => {
      storeOf(deps)
      return findOwnFile(deps, key)
    },
    open: (key) => openOwnFile(deps, key),
    remove: (key) => remove(writeDeps, key),
  }
}

type WriteDeps = FileDeps & { readonly recent: RecentWrites }

async function execute(
  { log, recent }: Pick<WriteDeps, 'log' | 'recent'>,
  command: FileCommand,
  fileId: string,
  by: { readonly principal: Principal; readonly requestId: string },
): Promise<void> {
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

async function discard(deps: FileDeps, { fileId }: Pick<KeptBody, 'fileId'>): Promise<void> {
  const quietly = (work: Promise<void>, what: string): Promise<void> =>
    work.catch((error: unknown) => deps.logger.warn({ err: error, fileId }, what))
  await quietly(
    storeOf(deps).remove(fileKey(fileId)),
    'the bytes of a file could not be removed; the purge removes them',
  )
  await quietly(
    deps.quota.free(fileId),
    'a removed file counts against the quota for up to an hour',
  )
}

async function keep(deps: FileDeps, principal: Principal, body: Readable): Promise<KeptBody> {
  const store = storeOf(deps)
  // Without the log the upload could not be recorded.
  await deps.log.ready()
  const reserved = await deps.throttle.request(principal)
  const fileId = newFileId(deps.clock.nowMs())
  try {
    const place = await deps.quota.take(principal.tenantId, fileId)
    let sizeBytes = 0
    const counted = async function* (): AsyncGenerator<Uint8Array, void> {
      for await (const chunk of place.counted(body as AsyncIterable<Buffer>)) {
        sizeBytes += chunk.length
        yield chunk
      }
    }
    try {
      await store.put(fileKey(fileId), owned(Readable.from(counted(), { objectMode: false })))
    } catch (error) {
      await discard(deps, { fileId })
      throw error
    }
    deps.crashPoint('file.after-object')
    return { fileId, sizeBytes, place }
  } finally {
    reserved?.release('failed')
  }
}

async function record(
  deps: WriteDeps,
  { fileId, sizeBytes, place }: KeptBody,
  { principal, requestId, purpose, filename }: Parameters<FileUseCases['record']>[1],
): Promise<FileView> {
  const { tenantId, userId, tokenId } = principal
  const nowMs = deps.clock.nowMs()
  const expiresAtMs = nowMs + deps.quota.limits.lifeMs
  const [uploadedAt, expiresAt] = [toTimestamp(nowMs), toTimestamp(expiresAtMs)]
  const facts = { fileId, tenantId, userId, tokenId, purpose, filename, sizeBytes }
  try {
    const file = { ...facts, uploadedAt, expiresAt }
    await execute(deps, { kind: 'upload', file }, fileId, { principal, requestId })
  } catch (error) {
    if (!isDomainError(error, 'log_outcome_unknown')) await discard(deps, { fileId })
    throw error
  }
  deps.crashPoint('file.after-uploaded')
  // If it fails, the reserved size counts for the file, for an hour at most.
  await place
    .keep(fileId)
    .catch((error: unknown) =>
      deps.logger.warn({ err: error, fileId }, 'the quota for an upload could not be updated'),
    )
  return {
    fileId,
    purpose,
    filename,
    sizeBytes,
    uploadedAtMs: fromTimestamp(uploadedAt),
    expiresAtMs,
  }
}

async function remove(
  deps: WriteDeps,
  { principal, requestId, fileId }: Parameters<FileUseCases['remove']>[0],
): Promise<void> {
  storeOf(deps)
  // A text that is not an id of ours names no stream.
  if (!isFileId(fileId)) throw new DomainError('file_not_found', 'the file does not exist', {})
  const { tenantId, tokenId } = principal
  const at = toTimestamp(deps.clock.nowMs())
  const command: FileCommand = { kind: 'delete', fileId, tenantId, tokenId, at }
  await execute(deps, command, fileId, { principal, requestId })
  deps.crashPoint('file.after-deleted')
  await discard(deps, { fileId })
}
