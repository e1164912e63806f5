/**
 * `$all` as a subscription reads it. A filtered subscription goes in pages that end after so many
 * matching or so many considered events. Between pages the server sends a checkpoint: the last
 * match, or, if the page had none, the position just before the page, which is less than was
 * considered. The physical pages behind them are larger.
 */

import { checkpointFrame } from './frames.ts'
import { PAGE_EVENTS, PAGE_MATCHES } from './limits.ts'
import type { ServerLog } from './log.ts'
import {
  atEvent,
  beforeEvent,
  comparePositions,
  isEventBehind,
  type LogPosition,
  BEFORE_START,
} from './position.ts'
import type { AllRequest } from './read-request.ts'
import { recordPosition } from './record.ts'
import type { Sender } from './sender.ts'
import type { Source } from './source.ts'
import type { Behaviour } from './versions.ts'

const WHOLE_LOG = Number.MAX_SAFE_INTEGER

/** A subscription to `$all` from the start its request names. */
export function allSource(
  log: ServerLog,
  request: AllRequest,
  sender: Sender,
  behaviour: Behaviour,
): Source {
  return new AllSource(log, request, sender, behaviour)
}

class AllSource implements Source {
  readonly isAtEnd: boolean
  readonly #log: ServerLog
  readonly #filter: AllRequest['filter']
  readonly #sender: Sender
  readonly #behaviour: Behaviour
  /** The last event or checkpoint that was sent; where the request begins before that. */
  #sent: LogPosition
  /** The last event or checkpoint that was followed. */
  #followed: LogPosition
  /** The next event to be read. */
  #next = 1
  #pageStart = beforeEvent(0)
  #pageConsidered = 0
  #pageMatches = 0
  /** Considered events since the last checkpoint: of whole pages, then of live events. */
  #considered = 0
  #lastCheckpoint = BEFORE_START

  constructor(log: ServerLog, request: AllRequest, sender: Sender, behaviour: Behaviour) {
    const { start } = request
    const last = log.lastPosition
    this.#log = log
    this.#filter = request.filter
    this.#sender = sender
    this.#behaviour = behaviour
    this.#sent =
      start.kind === 'start' ? BEFORE_START : start.kind === 'end' ? atEvent(last) : start.at
    this.#followed = this.#sent
    this.isAtEnd = !isEventBehind(last, this.#sent) && start.kind !== 'start'
    this.#turnTo(behaviour.considersStart)
    if (this.isAtEnd) this.#next = last + 1
  }

  readonly catchUp = async (): Promise<readonly Buffer[] | 'end'> => {
    const page = await this.#read()
    if (page === undefined) return 'end'
    const frames: Buffer[] = []
    for (const record of page) {
      const position = recordPosition(record)
      if (this.#filter === undefined) this.#sendEvent(position, record, frames)
      else if (this.#consider(position, record, frames)) this.#endPage(position, frames)
    }
    return frames
  }

  readonly goLive = (): readonly Buffer[] => {
    this.#followed = this.#sent
    if (this.#behaviour.considersStart) this.#considered = 0
    else this.#considered += this.#pageConsidered
    if (this.#filter === undefined || this.#behaviour.checkpointOnGoingLive === 'none') return []
    if (this.#behaviour.checkpointOnGoingLive === 'raised') this.#raise()
    this.#followed = this.#sent
    return this.#checkpoint()
  }

  readonly follow = async (): Promise<readonly Buffer[] | undefined> => {
    const page = await this.#read()
    if (page === undefined) return undefined
    const filter = this.#filter
    const frames: Buffer[] = []
    for (const record of page) {
      const position = recordPosition(record)
      const isNews = isEventBehind(position, this.#followed)
      if (isNews && (filter === undefined || filter.matches(record))) {
        frames.push(this.#sender.frameOf(record))
        this.#followed = atEvent(position)
      }
      if (filter === undefined) continue
      this.#considered += 1
      if (this.#considered < filter.checkpointEvery) continue
      this.#considered = 0
      if (!isNews) continue
      this.#followed = atEvent(position)
      frames.push(checkpointFrame(this.#followed))
    }
    return frames
  }

  readonly markSent = (): void => {
    this.#sent = this.#followed
  }

  readonly fallBehind = (): readonly Buffer[] => {
    this.#turnTo(true)
    this.#considered = 0
    return this.#filter === undefined ? [] : this.#checkpoint()
  }

  /** The next events of the log; undefined at its end. */
  async #read(): Promise<readonly Buffer[] | undefined> {
    if (this.#next > this.#log.lastPosition) return undefined
    const page = await this.#log.readAll({ from: this.#next, to: WHOLE_LOG }, PAGE_EVENTS, false)
    const last = page.at(-1)
    if (last === undefined) return undefined
    this.#next = recordPosition(last) + 1
    return page
  }

  /** Begins a page at the subscription's position. */
  #turnTo(considersStart: boolean): void {
    const { commit, prepare } = this.#sent
    const isSkipped = !considersStart && commit === prepare && commit <= this.#log.lastPosition
    this.#beginPage(isSkipped ? beforeEvent(commit + 1) : commit < 0 ? beforeEvent(0) : this.#sent)
    this.#next = Math.max(1, this.#pageStart.commit)
  }

  #beginPage(start: LogPosition): void {
    this.#pageStart = start
    this.#pageConsidered = 0
    this.#pageMatches = 0
  }

  /** Takes an event into the page; whether the page is full then. */
  #consider(position: number, record: Buffer, frames: Buffer[]): boolean {
    this.#pageConsidered += 1
    if (this.#filter?.matches(record) === true) {
      this.#pageMatches += 1
      this.#sendEvent(position, record, frames)
    }
    return this.#pageMatches >= PAGE_MATCHES || this.#pageConsidered >= (this.#filter?.window ?? 0)
  }

  #sendEvent(position: number, record: Buffer, frames: Buffer[]): void {
    // Only the event at the start itself is not after the events that were sent.
    if (!isEventBehind(position, this.#sent)) return
    frames.push(this.#sender.frameOf(record))
    this.#sent = atEvent(position)
  }

  #endPage(position: number, frames: Buffer[]): void {
    const interval = this.#filter?.checkpointEvery ?? 0
    this.#considered += this.#pageConsidered
    if (this.#considered >= interval) {
      this.#considered %= interval
      this.#raise()
      frames.push(...this.#checkpoint())
    }
    this.#beginPage(beforeEvent(position + 1))
  }

  /** At the start of a page everything before it has been considered. */
  #raise(): void {
    if (comparePositions(this.#sent, this.#pageStart) < 0) this.#sent = this.#pageStart
  }

  /** Checkpoint of the subscription; the newest generation never repeats one nor sends 2^64-1. */
  #checkpoint(): readonly Buffer[] {
    const isSent = comparePositions(this.#sent, this.#lastCheckpoint) <= 0
    if (this.#behaviour.checkpointOnGoingLive === 'raised' && isSent) return []
    this.#lastCheckpoint = this.#sent
    return [checkpointFrame(this.#sent)]
  }
}
