/**
 * The durable log: many readers, one writer that commits in groups.
 *
 * A command is decided, written with all other queued commands in one synced batch, and only then answered and shown
 * to readers. After a failed write nothing more is written until the database has been reopened on a disk with space;
 * reads continue meanwhile.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { createLru } from '../../../src/kernel/lru.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { Announcer } from './announcer.ts'
import { Database } from './database.ts'
import { Group } from './group.ts'
import { EMPTY_HEAD, type StreamHead } from './heads.ts'
import {
  MAX_CACHED_HEADS,
  MAX_GROUP_APPENDS,
  MAX_GROUP_BYTES,
  MAX_QUEUED_APPENDS,
  MAX_QUEUED_BYTES,
  LOOK_FOR_ROOM_MS,
  TRY_AGAIN_MS,
} from './limits.ts'
import { checkMetadata } from './metadata.ts'
import { readAllPage, readHeads, readStreamPage, type Range } from './reads.ts'
import { recordPosition } from './record.ts'
import { RecentIds } from './recent-ids.ts'
import { Tail } from './tail.ts'
import { type CommandOutcome, LogError, type StreamCommand } from './types.ts'
import { verifyEnd } from './verify.ts'

/** Called with events that an operator should see. */
type LogEvents = (
  event: 'write_failed' | 'recovered' | 'recovery_failed' | 'damaged_end' | 'without_checksums',
  detail: string,
) => void

interface Queued {
  readonly command: StreamCommand
  readonly resolve: (outcome: CommandOutcome) => void
  readonly reject: (error: Error) => void
}

type State = 'writable' | 'failed' | 'closing'

export class ServerLog {
  readonly #database: Database
  readonly #report: LogEvents
  readonly #heads = createLru<string, StreamHead>(MAX_CACHED_HEADS)
  readonly #recent = new RecentIds()
  readonly #tail = new Tail()
  readonly #announcer = new Announcer()
  #queue: Queued[] = []
  #queuedBytes = 0
  #lastPosition = 0
  #state: State = 'writable'
  #writer: Promise<void> | undefined
  #recovery: Promise<void> | undefined

  private constructor(database: Database, report: LogEvents) {
    this.#database = database
    this.#report = report
  }

  /** Opens the log under `dir` and verifies its end, and `deeply` its tables. @throws {OpenError} */
  static async open(
    dir: string,
    report: LogEvents = () => undefined,
    { deeply = false } = {},
  ): Promise<ServerLog> {
    const database = await Database.open(dir, (what) => report('damaged_end', what), { deeply })
    if (!database.hasChecksums)
      report('without_checksums', 'damage is not noticed before: run tollgate convert-log')
    const log = new ServerLog(database, report)
    try {
      await log.#load()
    } catch (error) {
      await database.close()
      throw error
    }
    return log
  }

  /** Position of the last durable event; 0 while there is none. */
  get lastPosition(): number {
    return this.#lastPosition
  }

  /** Whether commands are accepted at the moment. */
  get isWritable(): boolean {
    return this.#state === 'writable'
  }

  /** Carries out a command; resolves once it is durable. @throws {LogError} */
  async submit(command: StreamCommand): Promise<CommandOutcome> {
    if (this.#state === 'closing') throw new LogError('closing', 'the event store is stopping')
    if (this.#state === 'failed') {
      throw new LogError('not_writable', 'the log does not take writes: the disk refused the last')
    }
    const sizeBytes = sizeOf(command)
    if (
      this.#queue.length >= MAX_QUEUED_APPENDS ||
      (this.#queue.length > 0 && this.#queuedBytes + sizeBytes > MAX_QUEUED_BYTES)
    ) {
      throw new LogError('queue_full', 'too many appends are waiting to be written')
    }
    if (command.kind === 'append') checkMetadata(command.stream, command.events)
    return await new Promise<CommandOutcome>((resolve, reject) => {
      this.#queue.push({ command, resolve, reject })
      this.#queuedBytes += sizeBytes
      this.#writer ??= this.#write()
    })
  }

  /** The head of a stream. */
  async head(stream: string): Promise<StreamHead> {
    const cached = this.#heads.get(stream)
    if (cached !== undefined) return cached
    return (await readHeads(this.#database, [stream])).get(stream) ?? EMPTY_HEAD
  }

  /** One page of `$all`, within the durable events; empty at the end. */
  async readAll(range: Range, limit: number, backwards: boolean): Promise<Buffer[]> {
    const end = this.#lastPosition
    if (!backwards) {
      const page = this.#tail.page(range.from, Math.min(range.to, end), limit)
      if (page !== undefined) return page
    }
    const within = backwards
      ? { from: Math.min(range.from, end), to: range.to }
      : { from: range.from, to: Math.min(range.to, end) }
    return await readAllPage(this.#database, within, limit, backwards)
  }

  /** One page of a stream, within the durable events; empty at the end. */
  async readStream(
    stream: string,
    range: Range,
    limit: number,
    backwards: boolean,
  ): Promise<Buffer[]> {
    const page = await readStreamPage(this.#database, stream, range, limit, backwards)
    return page.filter((record) => recordPosition(record) <= this.#lastPosition)
  }

  /** Calls the listener after commits, once for many, until the returned function is called. */
  readonly onCommits: Announcer['listen'] = (listener) => this.#announcer.listen(listener)

  /** Refuses new commands, writes the queued ones, closes the database. */
  async close(): Promise<void> {
    const failed = this.#state === 'failed'
    this.#state = 'closing'
    if (failed) this.#rejectQueued('not_writable', 'the event store is stopping')
    await this.#writer
    await this.#recovery
    this.#announcer.stop()
    await this.#database.close()
  }

  async #load(): Promise<void> {
    const end = await verifyEnd(this.#database)
    this.#lastPosition = end.lastPosition
    this.#heads.clear()
    this.#tail.clear()
    this.#recent.add(end.recent)
  }

  /** Writes groups until the queue is empty. Never rejects. */
  async #write(): Promise<void> {
    // Yield once, so that everything that arrived in this turn shares the first commit.
    await new Promise(setImmediate)
    while (this.#queue.length > 0) {
      const members = this.#take()
      try {
        await this.#commit(members)
      } catch (cause) {
        this.#fail(members, cause)
        break
      }
    }
    this.#writer = undefined
  }

  #take(): Queued[] {
    const members: Queued[] = []
    let bytes = 0
    for (const queued of this.#queue) {
      const sizeBytes = sizeOf(queued.command)
      if (members.length > 0 && bytes + sizeBytes > MAX_GROUP_BYTES) break
      bytes += sizeBytes
      members.push(queued)
      if (members.length >= MAX_GROUP_APPENDS) break
    }
    this.#queue = this.#queue.slice(members.length)
    this.#queuedBytes -= bytes
    return members
  }

  async #commit(members: readonly Queued[]): Promise<void> {
    const group = new Group({
      database: this.#database,
      lastPosition: this.#lastPosition,
      nowMs: systemClock.nowMs(),
      cachedHead: (stream) => this.#heads.get(stream),
      recent: (id) => this.#recent.get(id),
    })
    // If a head is damaged, each command reads its own, and only the affected one is refused.
    await group.prepare(members.map(({ command }) => command.stream)).catch(unlessDamaged)
    const answers: (() => void)[] = []
    for (const { command, resolve, reject } of members) {
      if (command.isAbandoned()) {
        answers.push(() => reject(new LogError('abandoned', 'the caller gave up waiting')))
        continue
      }
      try {
        const outcome = await group.add(command)
        answers.push(() => resolve(outcome))
      } catch (error) {
        unlessDamaged(error)
        answers.push(() => reject(error as LogError))
      }
    }
    if (group.batch.length > 0) {
      group.seal()
      await this.#database.write(group.batch)
      this.#tail.add(this.#lastPosition + 1, group.records)
      this.#lastPosition = group.lastPosition
      for (const [stream, head] of group.heads) this.#heads.set(stream, head)
      this.#recent.add(group.seen)
    }
    // Answered together: an outcome may rest on what an earlier command of the group wrote.
    for (const answer of answers) answer()
    this.#announcer.committed(group.records.length)
  }

  #fail(members: readonly Queued[], cause: unknown): void {
    const message = cause instanceof Error ? cause.message : String(cause)
    this.#report('write_failed', message)
    const error = new LogError('write_failed', 'the log could not be written', { cause })
    for (const { reject } of members) reject(error)
    this.#rejectQueued('not_writable', 'the log does not take writes: the disk refused the last')
    if (this.#state === 'closing') return
    this.#state = 'failed'
    this.#recovery = this.#recover()
  }

  #rejectQueued(code: 'not_writable', message: string): void {
    const queue = this.#queue
    this.#queue = []
    this.#queuedBytes = 0
    for (const { reject } of queue) reject(new LogError(code, message))
  }

  /**
   * Waits for space, then reopens. A failed write may have left a part of itself in LevelDB's log,
   * and writes after it could be lost: the handle is never written to again.
   */
  async #recover(): Promise<void> {
    let said: string | undefined
    const sayOnce = (what: string, words = what): void => {
      if (said !== what) this.#report('recovery_failed', words)
      said = what
    }
    while (this.#state === 'failed') {
      await sleep(LOOK_FOR_ROOM_MS)
      const lack = this.#database.spaceLack()
      if (lack !== undefined) {
        // The free space changes all the time.
        sayOnce('room', lack)
        continue
      }
      try {
        if (!(await this.#database.takesWrites())) throw new Error('the disk takes no writes yet')
        await this.#database.reopen()
        await this.#load()
      } catch (error) {
        sayOnce(error instanceof Error ? error.message : String(error))
        await sleep(TRY_AGAIN_MS)
        continue
      }
      if (this.#state !== 'failed') return
      this.#state = 'writable'
      this.#report('recovered', `at position ${this.#lastPosition}`)
      // A write that the disk refused may still have become durable.
      this.#announcer.announce()
    }
  }
}

/** @throws any other error */
function unlessDamaged(error: unknown): void {
  if (!(error instanceof LogError) || error.code !== 'damaged') throw error
}

function sizeOf(command: StreamCommand): number {
  return command.kind === 'append' ? command.sizeBytes : 0
}
