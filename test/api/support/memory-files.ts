import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FileUseCases, FileView } from '../../../src/app/files/types.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { noPlace } from './no-place.ts'

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
