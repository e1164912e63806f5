import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { AcceptedCall } from '../calls/store.ts'
import { countOf, type Faults, isOn } from '../faults/vocabulary.ts'

/** One server-sent event. */
export interface StreamFrame {
  /** The `event:` line; null: the frame has none. */
  readonly event: string | null
  readonly data: string
  /** Carries the final usage. */
  readonly usage: boolean
  /** Carries the end of the answer: what `cut-before-usage` never lets out. */
  readonly last: boolean
}

/** An answer that flows. */
export interface StreamAnswer {
  readonly status: 200
  readonly headers: Readonly<Record<string, string>>
  readonly eol: '\n' | '\r\n'
  /** Made one by one, as fast as the caller reads. */
  readonly frames: Iterable<StreamFrame>
  /** What is sent when it fails after `written` frames: a frame, or bytes outside any frame. */
  readonly failure: (written: number) => StreamFrame | string
  readonly call: AcceptedCall
}

const MAX_PAUSE_MS = 600_000
const MAX_STALL_MS = 15 * 60_000
/** Sizes of the pieces of `split-bytes`, over and over. */
const ODD_PIECES = [1, 3, 7, 1, 13, 5] as const

function encode(frame: StreamFrame, eol: string): string {
  const data = `data: ${frame.data}${eol}${eol}`
  return frame.event === null ? data : `event: ${frame.event}${eol}${data}`
}

/** A frame whose JSON lacks its end. */
function broken(frame: StreamFrame): StreamFrame {
  return { ...frame, data: frame.data.slice(0, -2), usage: false }
}

/** Writes to one caller, never faster than it reads, and knows when it has gone. */
class Flow {
  gone: boolean
  readonly #raw: ServerResponse
  readonly #call: AcceptedCall
  readonly #split: boolean
  #wake: (() => void) | null = null

  constructor(raw: ServerResponse, call: AcceptedCall, split: boolean) {
    this.#raw = raw
    this.#call = call
    this.#split = split
    this.gone = raw.destroyed
    raw.once('close', () => {
      this.gone = true
      this.#wake?.()
    })
    raw.on('drain', () => this.#wake?.())
  }

  /** Waits, but not longer than the caller does. */
  async pause(waitMs: number): Promise<void> {
    if (this.gone) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#wake = null
        resolve()
      }
      const timer = setTimeout(done, Math.min(waitMs, MAX_STALL_MS))
      this.#wake = done
    })
  }

  async write(text: string): Promise<void> {
    const bytes = Buffer.from(text)
    if (!this.#split) return this.#put(bytes)
    for (let at = 0, i = 0; at < bytes.length; i += 1) {
      const size = ODD_PIECES[i % ODD_PIECES.length] ?? 1
      await this.#put(bytes.subarray(at, at + size))
      // Node joins what is written in one turn of the event loop.
      await setImmediate()
      at += size
    }
  }

  async #put(bytes: Buffer): Promise<void> {
    if (this.gone) return
    this.#call.wrote(bytes.length)
    if (!this.#raw.write(bytes)) await this.pause(MAX_STALL_MS)
  }

  /** Waits until all that was written has left this process. */
  async flushed(): Promise<void> {
    if (this.gone || this.#raw.writableLength === 0) return
    await new Promise<void>((resolve) => {
      this.#raw.once('close', resolve)
      this.#raw.write('', () => resolve())
    })
  }

  /** Breaks the connection off once what was written is out. */
  async cut(): Promise<void> {
    await this.flushed()
    if (!this.gone) this.#call.end('cut')
    this.#raw.destroy()
  }

  /** Ends the answer in order. */
  async finish(): Promise<void> {
    if (this.gone) return
    await new Promise<void>((resolve) => {
      this.#raw.once('close', resolve)
      this.#raw.end(() => {
        this.#call.end('whole')
        resolve()
      })
    })
  }
}

interface Plan {
  readonly pauseMs: number | null
  readonly firstMs: number | null
  readonly cutAfter: number
  readonly endAfter: number
  readonly errorAfter: number
  readonly stallAfter: number
  readonly cutBeforeUsage: boolean
  readonly keepAlive: boolean
  readonly malformed: boolean
  readonly truncated: boolean
  readonly noDone: boolean
  readonly doneOnly: boolean
}

function planOf(faults: Faults): Plan {
  const never = Number.POSITIVE_INFINITY
  return {
    pauseMs: countOf(faults, 'frame-ms'),
    firstMs: countOf(faults, 'first-frame-ms'),
    cutAfter: countOf(faults, 'cut-after') ?? never,
    endAfter: countOf(faults, 'end-after') ?? never,
    errorAfter: countOf(faults, 'error-after') ?? never,
    stallAfter: countOf(faults, 'stall-after') ?? never,
    cutBeforeUsage: isOn(faults, 'cut-before-usage'),
    keepAlive: isOn(faults, 'keep-alive'),
    malformed: isOn(faults, 'malformed'),
    truncated: isOn(faults, 'truncated'),
    noDone: isOn(faults, 'no-done'),
    doneOnly: isOn(faults, 'done-only'),
  }
}

/** What happens to the stream in place of its next frame; null: the frame goes out. */
type Turn = 'cut' | 'end' | 'error' | 'stall' | null

function turnAt(plan: Plan, written: number, next: StreamFrame | null): Turn {
  if (written >= plan.cutAfter) return 'cut'
  if (written >= plan.errorAfter) return 'error'
  if (written >= plan.endAfter) return 'end'
  if (written >= plan.stallAfter) return 'stall'
  if (next === null) return 'end'
  if (plan.cutBeforeUsage && (next.usage || next.last)) return 'cut'
  return plan.noDone && next.data === '[DONE]' ? 'end' : null
}

async function act(turn: Exclude<Turn, null>, flow: Flow, answer: StreamAnswer): Promise<void> {
  if (turn === 'cut') return flow.cut()
  if (turn === 'stall') {
    await flow.flushed()
    await flow.pause(MAX_STALL_MS)
    return flow.cut()
  }
  if (turn === 'error') {
    const failure = answer.failure(answer.call.frames)
    answer.call.errorSent = true
    await flow.write(typeof failure === 'string' ? failure : encode(failure, answer.eol))
  }
  return flow.finish()
}

/** Sends a stream under the switches in force; returns when the exchange is over. */
export async function sendStream(
  raw: ServerResponse,
  answer: StreamAnswer,
  faults: Faults,
): Promise<void> {
  const { call, eol } = answer
  const plan = planOf(faults)
  const flow = new Flow(raw, call, isOn(faults, 'split-bytes'))
  raw.once('close', () => call.end('client-gone'))
  if (flow.gone) return call.end('client-gone')
  call.httpStatus = answer.status
  raw.writeHead(answer.status, answer.headers)
  raw.flushHeaders()
  if (plan.firstMs !== null) await flow.pause(Math.min(plan.firstMs, MAX_PAUSE_MS))
  for (const frame of answer.frames) {
    if (plan.doneOnly && frame.data !== '[DONE]') continue
    const turn = turnAt(plan, call.frames, frame)
    if (turn !== null) return act(turn, flow, answer)
    if (call.frames > 0 && plan.pauseMs !== null) {
      await flow.pause(Math.min(plan.pauseMs, MAX_PAUSE_MS))
    }
    if (flow.gone) return
    if (plan.keepAlive) await flow.write(`: keep-alive${eol}${eol}`)
    if (plan.truncated && frame.last) {
      const text = encode(frame, eol)
      await flow.write(text.slice(0, Math.floor(text.length / 2)))
      return flow.cut()
    }
    const damaged = plan.malformed && call.frames === 1
    await flow.write(encode(damaged ? broken(frame) : frame, eol))
    if (flow.gone) return
    call.wroteFrame(frame.usage && !damaged)
  }
  return act(turnAt(plan, call.frames, null) ?? 'end', flow, answer)
}
