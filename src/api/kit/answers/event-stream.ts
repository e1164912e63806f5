import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cost, Settlement } from '../../../domain/pricing/settlement.ts'
import { withTimeout } from '../../../kernel/pause.ts'
import { failureFields } from '../../../kernel/errors.ts'

/** The named bounds of an event stream (P10). */
export interface StreamLimits {
  /**
   * The silence after which the gateway sends a comment, so that proxies do not close the stream.
   */
  readonly keepAliveMs: number
  /**
   * After this time a stream begins with comments, even without a frame; a later failure is written
   * into it.
   */
  readonly openAfterMs: number
  /** A caller who reads nothing for this long counts as disconnected. */
  readonly stallMs: number
}

export const defaultStreamLimits: StreamLimits = {
  keepAliveMs: 15_000,
  openAfterMs: 20_000,
  stallMs: 60_000,
}

/** A stream as its use case starts it. */
export interface Started<Frame> {
  readonly headers: Readonly<Record<string, string>>
  readonly frames: AsyncIterable<Frame>
  /** The settlement of the call, once that is durable. */
  readonly settlement?: (() => Settlement | undefined) | undefined
  /** Cost of the call, once that is durable; absent if the stream does not report it. */
  readonly cost?: (() => Cost | undefined) | undefined
}

/** The frames of one surface. */
export interface StreamDialect<Frame> {
  /**
   * The text of a frame, including its empty line; undefined drops it. `cost` is set for frames
   * after the settlement, if the caller asked for it.
   */
  readonly frame: (frame: Frame, cost?: Cost) => string | undefined
  readonly failure: (error: unknown) => string
  /** Written after the last frame, if nothing failed. */
  readonly end: string
  /** Written before that, once the call is settled; undefined where nothing is to be added. */
  readonly settled?: (settlement: Settlement) => string | undefined
  /** Written before the end, if the caller asked for the cost. */
  readonly last?: (cost: Cost) => string
}

const KEEP_ALIVE = ': keep-alive\n\n'
const noop = (): void => undefined

/** Line breaks in JSON text are white space between values; in a `data:` line they would end it. */
export function oneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replaceAll(/[\r\n]/g, ' ') : json
}

/** Writes to the caller while it is connected; afterwards everything is dropped. */
class EventWriter {
  readonly #response: ServerResponse
  readonly #limits: StreamLimits
  readonly #gone: AbortController
  readonly #timer: NodeJS.Timeout

  constructor(response: ServerResponse, limits: StreamLimits, gone: AbortController) {
    this.#response = response
    this.#limits = limits
    this.#gone = gone
    this.#timer = setTimeout(() => {
      if (!response.writableNeedDrain && !gone.signal.aborted) response.write(KEEP_ALIVE)
      this.#timer.refresh()
    }, limits.keepAliveMs)
  }

  /** Returns a promise only if the caller is slower than the frames. */
  write(text: string): Promise<void> | undefined {
    if (this.#gone.signal.aborted) return undefined
    this.#timer.refresh()
    return this.#response.write(text) ? undefined : this.#drained()
  }

  #drained(): Promise<void> {
    const response = this.#response
    return new Promise((resolve) => {
      const stalled = setTimeout(() => {
        this.#gone.abort()
        response.destroy()
      }, this.#limits.stallMs)
      const done = (): void => {
        clearTimeout(stalled)
        response.off('drain', done).off('close', done)
        resolve()
      }
      response.on('drain', done).on('close', done)
      if (response.destroyed) done()
    })
  }

  end(): void {
    clearTimeout(this.#timer)
    if (!this.#gone.signal.aborted) this.#response.end()
  }
}

function open(reply: FastifyReply, headers: Readonly<Record<string, string>>): ServerResponse {
  const { raw } = reply
  void reply.headers(headers).hijack()
  raw.on('error', noop)
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  raw.flushHeaders()
  return raw
}

/**
 * Answers with a stream of events: each frame as it arrives, no faster than the caller reads. A
 * failure before the stream begins is thrown, a later one is written as a frame. When the caller
 * disconnects, `gone` aborts, and the frames are still read to their end, so that the produced part
 * is settled.
 */
export async function sendEventStream<Frame>(
  request: FastifyRequest,
  reply: FastifyReply,
  options: {
    readonly gone: AbortController
    readonly started: Promise<Started<Frame>>
    readonly dialect: StreamDialect<Frame>
    readonly limits: StreamLimits
    /** Asked for when the stream opens, beside those of its use case. */
    readonly headers?: () => Readonly<Record<string, string>>
  },
): Promise<void> {
  const { gone, started, dialect, limits } = options
  const early = await withTimeout(limits.openAfterMs, started, () => undefined)
  const headers = { ...options.headers?.(), ...early?.headers }
  const writer = new EventWriter(open(reply, headers), limits, gone)
  try {
    const { frames, cost, settlement } = early ?? (await started)
    for await (const frame of frames) {
      const text = dialect.frame(frame, cost?.())
      if (text !== undefined) await writer.write(text)
    }
    const settled = settlement?.()
    const added = (settled && dialect.settled?.(settled)) ?? ''
    const costMembers = cost?.()
    const last = costMembers === undefined ? '' : (dialect.last?.(costMembers) ?? '')
    await writer.write(added + last + dialect.end)
  } catch (error) {
    if (gone.signal.aborted)
      request.log.info(failureFields(error), 'a stream ended after its caller had disconnected')
    else request.log.warn(failureFields(error), 'a stream failed')
    await writer.write(dialect.failure(error))
  } finally {
    writer.end()
    if (gone.signal.aborted) request.log.info('the caller disconnected during a stream')
  }
}
