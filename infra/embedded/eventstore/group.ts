/**
 * One group commit in the making: decides commands one after the other, each seeing the pending
 * writes of the earlier ones, and collects the batch.
 */

import { randomUUID } from 'node:crypto'
import type { Database, Put } from './database.ts'
import { decide, type SeenEvent, type StreamView } from './decide.ts'
import { EMPTY_HEAD, encodeHead, isSoftDeleted, SOFT_DELETED, type StreamHead } from './heads.ts'
import { encodeStreamEntry, eventKey, headKey, streamKey } from './keys.ts'
import { metadataStreamOf, originalStreamOf, truncationOf } from './metadata.ts'
import { readEventAt, readHeads } from './reads.ts'
import { encodeRecord } from './record.ts'
import type { CommandOutcome, ProposedEvent, StreamCommand } from './types.ts'

/** State at the start of a group. */
interface GroupBase {
  readonly database: Database
  readonly lastPosition: number
  readonly nowMs: number
  readonly cachedHead: (stream: string) => StreamHead | undefined
  readonly recent: (id: string) => SeenEvent | undefined
}

const NO_BYTES = new Uint8Array(0)
const MAX_REVISION_TEXT = '9223372036854775807'

export class Group {
  readonly batch: Put[] = []
  /** The events of the batch in order of position. */
  readonly records: Buffer[] = []
  /** Heads and ids as they are once the batch is durable. */
  readonly heads = new Map<string, StreamHead>()
  readonly seen = new Map<string, SeenEvent>()
  readonly #loaded = new Map<string, StreamHead>()
  readonly #events = new Map<string, Map<number, { id: string; position: number }>>()
  readonly #base: GroupBase
  #position: number

  constructor(base: GroupBase) {
    this.#base = base
    this.#position = base.lastPosition
  }

  /** Position of the last event of this group, or the log's when the group has none. */
  get lastPosition(): number {
    return this.#position
  }

  /** Fetches the heads these streams will need in one round trip. @throws {LogError} `damaged` */
  async prepare(streams: Iterable<string>): Promise<void> {
    const missing = [...new Set(streams)].filter(
      (stream) => this.#base.cachedHead(stream) === undefined,
    )
    if (missing.length === 0) return
    const heads = await readHeads(this.#base.database, missing)
    for (const [stream, head] of heads) this.#loaded.set(stream, head)
  }

  /** Decides a command and, if it changes anything, adds it to the batch. */
  async add(command: StreamCommand): Promise<CommandOutcome> {
    const head = await this.#head(command.stream)
    const ids = command.kind === 'append' ? command.events.map((event) => event.id) : [randomUUID()]
    const decision = await decide(this.#view(command.stream, head), command.expected, ids)
    switch (decision.kind) {
      case 'already_written':
        return { kind: 'done', revision: decision.revision, position: decision.position }
      case 'wrong_expected_revision':
        return { kind: 'wrong_expected_revision', current: head.last }
      case 'stream_deleted':
        return { kind: 'stream_deleted' }
      case 'write':
        return await this.#write(command, head)
    }
  }

  async #write(command: StreamCommand, head: StreamHead): Promise<CommandOutcome> {
    switch (command.kind) {
      case 'append':
        return await this.#append(command.stream, head, command.events)
      case 'delete':
        return await this.#softDelete(command.stream, head)
      case 'tombstone':
        return this.#tombstone(command.stream, head)
    }
  }

  async #append(
    stream: string,
    head: StreamHead,
    events: readonly ProposedEvent[],
  ): Promise<CommandOutcome> {
    if (events.length === 0) return { kind: 'done', revision: head.last, position: undefined }
    const original = originalStreamOf(stream)
    // Read before anything is put: a head that is damaged refuses the command whole.
    if (original !== undefined) await this.#head(original)
    if (isSoftDeleted(head)) await this.#head(metadataStreamOf(stream))
    const first = head.last + 1
    this.#put(stream, first, events)
    const last = head.last + events.length
    const position = this.#position
    this.#setHead(stream, { ...head, last })
    if (isSoftDeleted(head)) await this.#writeTruncation(stream, String(first))
    const metadata = events.at(-1)
    if (original !== undefined && metadata !== undefined) {
      const target = await this.#head(original)
      this.#setHead(original, { ...target, truncateBefore: truncationOf(metadata.data) })
    }
    return { kind: 'done', revision: last, position }
  }

  async #softDelete(stream: string, head: StreamHead): Promise<CommandOutcome> {
    if (head.last < 0 && (await this.#head(metadataStreamOf(stream))).last < 0) {
      return { kind: 'wrong_expected_revision', current: -1 }
    }
    await this.#writeTruncation(stream, MAX_REVISION_TEXT)
    return { kind: 'done', revision: head.last, position: this.#position }
  }

  #tombstone(stream: string, head: StreamHead): CommandOutcome {
    const event = { id: randomUUID(), type: '$streamDeleted', isJson: false }
    this.#putRecord(stream, head.last + 1, { ...event, data: NO_BYTES, metadata: NO_BYTES })
    this.#setHead(stream, { ...head, last: head.last + 1, tombstoned: true })
    return { kind: 'done', revision: head.last + 1, position: this.#position }
  }

  /** Appends to the metadata stream the revision below which events are hidden, and applies it. */
  async #writeTruncation(stream: string, truncateBefore: string): Promise<void> {
    const metadataStream = metadataStreamOf(stream)
    const metadataHead = await this.#head(metadataStream)
    await this.#head(stream)
    const event: ProposedEvent = {
      id: randomUUID(),
      type: '$metadata',
      isJson: true,
      // Written by hand: the number for "deleted" is beyond what JSON.stringify can spell.
      data: Buffer.from(`{"$tb":${truncateBefore}}`),
      metadata: NO_BYTES,
    }
    this.#put(metadataStream, metadataHead.last + 1, [event])
    this.#setHead(metadataStream, { ...metadataHead, last: metadataHead.last + 1 })
    const head = await this.#head(stream)
    const hidden = truncateBefore === MAX_REVISION_TEXT ? SOFT_DELETED : Number(truncateBefore)
    this.#setHead(stream, { ...head, truncateBefore: hidden })
  }

  #put(stream: string, firstRevision: number, events: readonly ProposedEvent[]): void {
    for (const [index, event] of events.entries()) {
      this.#putRecord(stream, firstRevision + index, event)
    }
  }

  #putRecord(stream: string, revision: number, event: ProposedEvent): void {
    this.#position += 1
    const position = this.#position
    const name = Buffer.from(stream)
    const value = encodeRecord({
      ...event,
      stream: name,
      createdMs: this.#base.nowMs,
      revision,
      position,
    })
    this.records.push(value)
    const entry = encodeStreamEntry({ position, sizeBytes: value.length })
    this.batch.push(
      { type: 'put', key: eventKey(position), value },
      { type: 'put', key: streamKey(name, revision), value: entry },
    )
    this.seen.set(event.id, { stream, revision, position })
    let written = this.#events.get(stream)
    if (written === undefined) {
      written = new Map()
      this.#events.set(stream, written)
    }
    written.set(revision, { id: event.id, position })
  }

  #setHead(stream: string, head: StreamHead): void {
    this.heads.set(stream, head)
  }

  /** Adds the final heads to the batch; call once, last. */
  seal(): void {
    for (const [stream, head] of this.heads) {
      this.batch.push({ type: 'put', key: headKey(Buffer.from(stream)), value: encodeHead(head) })
    }
  }

  async #head(stream: string): Promise<StreamHead> {
    const known =
      this.heads.get(stream) ?? this.#base.cachedHead(stream) ?? this.#loaded.get(stream)
    if (known !== undefined) return known
    const heads = await readHeads(this.#base.database, [stream])
    const head = heads.get(stream) ?? EMPTY_HEAD
    this.#loaded.set(stream, head)
    return head
  }

  #view(stream: string, head: StreamHead): StreamView {
    return {
      stream,
      head,
      hasMetadata: async () => (await this.#head(metadataStreamOf(stream))).last >= 0,
      recent: (id) => this.seen.get(id) ?? this.#base.recent(id),
      at: async (revision) =>
        this.#events.get(stream)?.get(revision) ??
        (await readEventAt(this.#base.database, stream, revision)),
    }
  }
}
