import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { MediaUseCases, UploadInput } from '../../../src/app/calls/uploads/types.ts'
import type { FileUseCases, FileView } from '../../../src/app/files/types.ts'
import type { OwnUpload, UploadKey } from '../../../src/app/files/uploads/own-upload.ts'
import type { UploadPlace, UploadQuota } from '../../../src/app/files/uploads/quota.ts'
import { toTimestamp } from '../../../src/kernel/clock.ts'
import { DomainError } from '../../../src/kernel/errors.ts'

/** A place in a quota that nothing counts. */
const noPlace: UploadPlace = {
  counted: async function* (body) {
    yield* body
  },
  keep: () => Promise.resolve(),
  release: () => Promise.resolve(),
}

/** A quota that is never reached. */
export const noQuota: UploadQuota = {
  limits: {
    maxBytes: Number.MAX_SAFE_INTEGER,
    maxFiles: 1_000_000,
    maxPerDay: 1_000_000,
    lifeMs: 30 * 86_400_000,
  },
  take: () => Promise.resolve(noPlace),
  takeForTask: () => Promise.resolve(noPlace),
  free: () => Promise.resolve(),
  useOf: () => Promise.resolve({ files: 0, bytes: 0 }),
}

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

interface Held {
  readonly tenantId: string
  readonly view: FileView
}

/** Files in memory. What goes wrong with storage or the log is said by `broken`. */
export class MemoryFiles implements FileUseCases {
  readonly #nowMs: number
  readonly #files = new Map<string, Held>()
  #count = 0
  /** Bytes by file id, recorded or not. */
  readonly bytes = new Map<string, Buffer>()
  /** Thrown by everything. */
  broken: Error | undefined

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  readonly keep: FileUseCases['keep'] = async (_principal, body) => {
    this.#check()
    const fileId = `file-01JD${String((this.#count += 1)).padStart(22, '0')}`
    const bytes = await buffer(body)
    this.bytes.set(fileId, bytes)
    return { fileId, sizeBytes: bytes.length, place: noPlace }
  }

  readonly record: FileUseCases['record'] = async ({ fileId, sizeBytes }, file) => {
    this.#check()
    const { purpose, filename } = file
    const facts = { fileId, sizeBytes, purpose, filename, uploadedAtMs: this.#nowMs }
    const view = { ...facts, expiresAtMs: undefined }
    this.#files.set(fileId, { tenantId: file.principal.tenantId, view })
    return Promise.resolve(view)
  }

  readonly discard: FileUseCases['discard'] = async ({ fileId }) => {
    this.bytes.delete(fileId)
    return Promise.resolve()
  }

  readonly find: FileUseCases['find'] = async ({ principal, fileId }) => {
    this.#check()
    const held = this.#files.get(fileId)
    if (held?.tenantId !== principal.tenantId)
      throw new DomainError('file_not_found', 'not there', {})
    return Promise.resolve(held.view)
  }

  readonly open: FileUseCases['open'] = async (key) => {
    const file = await this.find(key)
    return { file, body: Readable.from([this.bytes.get(file.fileId) ?? Buffer.alloc(0)]) }
  }

  readonly list: FileUseCases['list'] = async ({ principal, purpose, order, after, limit }) => {
    this.#check()
    const all = [...this.#files.values()]
      .filter((held) => held.tenantId === principal.tenantId)
      .map((held) => held.view)
      .filter((view) => purpose === undefined || view.purpose === purpose)
    if (order === 'desc') all.reverse()
    const from = after === undefined ? 0 : all.findIndex((view) => view.fileId === after) + 1
    if (after !== undefined && from === 0)
      throw new DomainError('invalid_request', '`after` must be a file', { param: 'after' })
    const files = all.slice(from, from + limit)
    return Promise.resolve({ files, hasMore: all.length > from + limit })
  }

  readonly remove: FileUseCases['remove'] = async (key) => {
    await this.find(key)
    this.#files.delete(key.fileId)
    this.bytes.delete(key.fileId)
  }

  #check(): void {
    if (this.broken) throw this.broken
  }
}
