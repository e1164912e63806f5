import { DomainError } from '../../../kernel/errors.ts'
import type { UploadKey, UploadLookup } from './own-upload.ts'
import { namedUpload } from './own-upload.ts'

/** A file that a member of a request names. */
interface WantedFile {
  /** The id that callers use. */
  readonly fileId: string
  readonly param: string
}

/** Account of the files of one request. */
interface MediaPlace {
  /** The only account that has them. */
  readonly channelId: string
  /** Ids upstream by ids of the gateway. */
  readonly upstreamIds: ReadonlyMap<string, string>
}

/**
 * Finds the files that a video request names; undefined when it names none.
 * @throws DomainError `invalid_request` naming the member: no such file of this tenant, one for
 *   another purpose, or one at another account than those before it
 */
export type ResolveMediaFiles = (
  principal: UploadKey['principal'],
  wanted: readonly WantedFile[],
) => Promise<MediaPlace | undefined>

export function createMediaFiles(deps: UploadLookup): ResolveMediaFiles {
  return async (principal, wanted) => {
    const upstreamIds = new Map<string, string>()
    let channelId: string | undefined
    // In sequence: the error names the first faulty one.
    for (const { fileId, param } of wanted) {
      if (upstreamIds.has(fileId)) continue
      const named = { param, purpose: 'video_generation_input' } as const
      const upload = await namedUpload(deps, { principal, fileId }, named)
      channelId ??= upload.channelId
      if (upload.channelId !== channelId) throw keptApart(param)
      upstreamIds.set(fileId, upload.upstreamFileId)
    }
    return channelId === undefined ? undefined : { channelId, upstreamIds }
  }
}

/** The refusal of a file at another account than the others of its request. */
export function keptApart(param: string): DomainError {
  return new DomainError(
    'invalid_request',
    `\`${param}\` names a file that is kept at another account than the others; upload them again`,
    { param },
  )
}
