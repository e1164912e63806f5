import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { AcceptedCall } from '../calls/store.ts'
import type { FaultBoard, FaultSubject } from '../faults/board.ts'
import { countOf, type Faults, isOn, mergeFaults, wordOf } from '../faults/vocabulary.ts'
import { sendStream, type StreamAnswer } from './stream.ts'
import type { RequestCounters, RequestLog } from './traffic.ts'
import { destroy, hang, pause, sendBadHttp, sendTruncated } from './wreck.ts'

/** What a family answers. An object is sent as JSON. */
export interface Answer {
  readonly status: number
  readonly body: object | string | Buffer
  readonly headers?: Readonly<Record<string, string>>
  /** The accepted call this answers, for the record of how far it got. */
  readonly call?: AcceptedCall
  /** The body reports the call's usage. */
  readonly usage?: boolean
}

/** One request to a family. */
export interface Exchange {
  readonly family: string
  readonly op: string
  readonly subject: Omit<FaultSubject, 'family' | 'op'>
  /** Switches from the prompt. */
  readonly promptFaults: Faults
  /** Performs the request, under the active switches. */
  readonly perform: (faults: Faults) => Promise<Answer | StreamAnswer>
  /** The family's answer for a refusal code. */
  readonly refusal: (code: string, faults: Faults) => Answer
  /** The family's answer for a bare status. */
  readonly failure: (status: number, faults: Faults) => Answer
}

/** What every exchange shares. */
export interface ExchangeKit {
  readonly board: FaultBoard
  readonly counters: RequestCounters
  readonly requests: RequestLog
  readonly log: Logger
  readonly nowMs: () => number
}

const MAX_FIRST_BYTE_MS = 600_000

/** Runs one exchange with its faults; answers, or leaves the caller without an answer. */
export async function runExchange(
  kit: ExchangeKit,
  exchange: Exchange,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { family, op } = exchange
  const route = `${family}.${op}`
  const leave = kit.counters.enter(route)
  const logged = kit.requests.add({
    route,
    method: request.method,
    url: request.url,
    headers: request.headers,
    body: Buffer.isBuffer(request.body) ? request.body : null,
    atMs: kit.nowMs(),
  })
  let status: number | null = null
  try {
    const struck = kit.board.strike({ family, op, ...exchange.subject })
    const faults = mergeFaults(struck, exchange.promptFaults)
    status = await answer(kit, exchange, faults, request, reply)
  } finally {
    logged.status = status
    leave(status)
    kit.log.debug({ route, status }, 'exchange')
  }
}

/** Returns the status that the caller received, or null if it received none. */
async function answer(
  kit: ExchangeKit,
  exchange: Exchange,
  faults: Faults,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<number | null> {
  if (isOn(faults, 'drop-before-accept') || isOn(faults, 'refuse-connections')) {
    return destroy(reply)
  }
  if (isOn(faults, 'hang')) return hang(request, reply)
  const early = earlyAnswer(exchange, faults)
  if (early !== null) return send(reply, early)

  const result = withStatus(withIds(await perform(kit, exchange, faults), faults), faults)
  const waitMs = countOf(faults, 'first-byte-ms')
  if (waitMs !== null) await pause(Math.min(waitMs, MAX_FIRST_BYTE_MS), request)
  const status = await deliver(exchange, result, faults, request, reply)
  const { call } = result
  if (call !== undefined) {
    call.httpStatus = status
    // An error that stopped following the answer also kept the answer from the caller.
    if (status === null) call.end('cut')
  }
  return status
}

/** Gives the answer to an accepted request, or what the switches put in its place. */
async function deliver(
  exchange: Exchange,
  result: Answer | StreamAnswer,
  faults: Faults,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<number | null> {
  if (isOn(faults, 'drop-after-accept')) return destroy(reply)
  if (isOn(faults, 'hang-after-accept')) return hang(request, reply)
  const lateStatus = countOf(faults, 'http-after-accept')
  if (lateStatus !== null) return damage(result, reply, exchange.failure(lateStatus, faults))
  if (isOn(faults, 'bad-http')) return sendBadHttp(reply)
  if (isOn(faults, 'garbage')) return damage(result, reply, GARBAGE)
  if ('frames' in result) {
    reply.hijack()
    await sendStream(reply.raw, result, faults)
    return result.call.httpStatus
  }
  if (isOn(faults, 'malformed')) return damage(result, reply, malformed(result))
  if (isOn(faults, 'truncated'))
    return sendTruncated(
      reply,
      result.status,
      bytesOf(result.body),
      result.headers?.['content-type'],
    )
  return result.call === undefined ? send(reply, result) : sendFollowed(reply, result, result.call)
}

/** Sends something else than the result of an accepted call. */
async function damage(
  result: Answer | StreamAnswer,
  reply: FastifyReply,
  instead: Answer,
): Promise<number> {
  result.call?.end('damaged')
  return send(reply, instead)
}

/** The replacement of every id, by the value of `answer-id`. */
const ODD_IDS: Readonly<Record<string, string | null>> = {
  large: '9'.repeat(1_048_576),
  nul: '12\u000034',
  surrogate: '12\ud800',
  none: null,
}
const ID_MEMBERS = /"(id|Id|task_id|file_id|trace_id)":\s*(?:"(?:[^"\\]|\\.)*"|\d+)/g

/** A complete answer with ids that no provider should return. */
function withIds(result: Answer | StreamAnswer, faults: Faults): Answer | StreamAnswer {
  const id = ODD_IDS[wordOf(faults, 'answer-id') ?? '']
  if (id === undefined || 'frames' in result || result.status !== 200) return result
  const text = bytesOf(result.body).toString()
  return {
    ...result,
    body: text.replace(ID_MEMBERS, (_, name) => `"${String(name)}":${JSON.stringify(id)}`),
    headers: { 'content-type': 'application/json', ...result.headers },
  }
}

/** A complete answer with another status of success. */
function withStatus(result: Answer | StreamAnswer, faults: Faults): Answer | StreamAnswer {
  const status = countOf(faults, 'success-status')
  if (status === null || 'frames' in result || result.status !== 200) return result
  return { ...result, status }
}

/** The answers that are given without acting on the request. */
function earlyAnswer(exchange: Exchange, faults: Faults): Answer | null {
  if (isOn(faults, 'down')) return exchange.failure(503, faults)
  const status = countOf(faults, 'http')
  if (status !== null) return exchange.failure(status, faults)
  const code = wordOf(faults, 'refuse')
  if (code === null) return null
  const refused = exchange.refusal(code, faults)
  return isOn(faults, 'envelope-200') ? { ...refused, status: 200 } : refused
}

async function perform(
  kit: ExchangeKit,
  exchange: Exchange,
  faults: Faults,
): Promise<Answer | StreamAnswer> {
  try {
    return await exchange.perform(faults)
  } catch (err) {
    kit.log.error({ err, family: exchange.family, op: exchange.op }, 'exchange failed')
    return exchange.failure(500, faults)
  }
}

const GARBAGE: Answer = {
  status: 200,
  body: Buffer.from([0x00, 0xff, 0xfe, 0x1f, 0x8b, 0x7b, 0x22, 0xc3, 0x28, 0xa0, 0xa1, 0x0d]),
  headers: { 'content-type': 'application/octet-stream' },
}

/** A whole answer that is not JSON: its end is missing although the length says it is complete. */
function malformed(result: Answer): Answer {
  const bytes = bytesOf(result.body)
  const cut = bytes.subarray(0, Math.max(1, bytes.length - 2))
  return { status: result.status, body: cut, headers: { 'content-type': 'application/json' } }
}

function bytesOf(body: Answer['body']): Buffer {
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

async function send(reply: FastifyReply, result: Answer): Promise<number> {
  void reply.code(result.status)
  if (typeof result.body === 'object' && !Buffer.isBuffer(result.body)) {
    void reply.type('application/json; charset=utf-8')
  }
  if (result.headers !== undefined) void reply.headers(result.headers)
  await reply.send(bytesOf(result.body))
  return result.status
}

/** Sends the answer to a call and notes how far it got. */
function sendFollowed(reply: FastifyReply, result: Answer, call: AcceptedCall): number | null {
  reply.hijack()
  const { raw } = reply
  if (raw.destroyed) {
    call.end('client-gone')
    return null
  }
  const { body } = result
  // A text goes out in one write with its head, which a buffer does not.
  const sent = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const length = Buffer.byteLength(sent)
  raw.once('close', () => call.end('client-gone'))
  raw.writeHead(result.status, {
    'content-type': 'application/json; charset=utf-8',
    ...result.headers,
    'content-length': length,
  })
  raw.end(sent, () => {
    call.wrote(length)
    call.usageSent = result.usage === true
    call.end('whole')
  })
  return result.status
}
