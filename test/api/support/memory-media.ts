import { Readable } from 'node:stream'
import type { MediaUseCases, UploadInput } from '../../../src/app/calls/uploads/types.ts'
import type { OwnUpload, UploadKey } from '../../../src/app/files/uploads/own-upload.ts'
import { toTimestamp } from '../../../src/kernel/clock.ts'
import { DomainError } from '../../../src/kernel/errors.ts'

/** Use cases of uploads in memory: enough to see what the routes ask and how they answer. */
export class MemoryMedia implements MediaUseCases {
  readonly uploads: OwnUpload[] = []
  /** Thrown by every use case while set. */
  failure: unknown
  readonly #nowMs: number

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  async upload({ principal, purpose, filename, body }: UploadInput): Promise<OwnUpload> {
    let sizeBytes = 0
    for await (const chunk of body) sizeBytes += chunk.length
    if (this.failure !== undefined) throw this.failure
    const { tenantId, userId, tokenId } = principal
    const upload = {
      fileId: String(4_503_599_627_370_497 + this.uploads.length),
      tenantId,
      userId,
      tokenId,
      channelId: 'speech-1',
      upstreamFileId: '9223372036854775807',
      purpose,
      filename,
      sizeBytes,
      uploadedAt: toTimestamp(this.#nowMs),
    }
    this.uploads.push(upload)
    return upload
  }

  findUpload({ principal, fileId }: UploadKey): Promise<OwnUpload> {
    const found = this.uploads.find(
      (one) => one.fileId === fileId && one.tenantId === principal.tenantId,
    )
    return found === undefined
      ? Promise.reject(new DomainError('file_not_found', 'the file does not exist', {}))
      : Promise.resolve(found)
  }

  async openUpload(
    key: UploadKey,
  ): Promise<{ upload: OwnUpload; sizeBytes: number; body: Readable }> {
    const upload = await this.findUpload(key)
    return {
      upload,
      sizeBytes: upload.sizeBytes,
      body: Readable.from(Buffer.alloc(upload.sizeBytes)),
    }
  }
}
