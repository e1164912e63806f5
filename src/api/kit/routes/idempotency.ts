import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { Type } from 'typebox'
import type { CallClaim, KeptAnswer, RepeatedAnswer } from '../../../app/calls/claims/types.ts'
import { MAX_KEPT_ANSWER_BYTES } from '../../../app/calls/claims/sealed-answer.ts'
import type { CallInput } from '../../../app/calls/family.ts'
import { sha256Hex } from '../../../kernel/ids.ts'
import { labelHeaders } from './labels.ts'
import { RequestError } from '../request-error.ts'

const key = (description: string) => ({
  'idempotency-key': Type.Optional(Type.String({ minLength: 1, maxLength: 255, description })),
})

/** Headers of a creation, for the documentation. */
export const IdempotencyKeySchema = Type.Object({
  ...key('A retry with the same key and body gets the same task; nothing is sent again.'),
  ...labelHeaders,
})

/** Headers of a synchronous call. */
export const CallKeySchema = Type.Object({
  ...key(
    'A retry with the same key and body within a day gets the first answer; nothing is sent or charged twice.',
  ),
  ...labelHeaders,
})

/** The header of requests that move a tenant's money. */
export const PostingKeySchema = Type.Object(
  key(
    'Identifies the request instead of an id in the body; a retry with the same key and body moves no money twice.',
  ),
)

/** The header of an answer that is repeated. */
export const REPLAYED = 'idempotent-replayed'

/** The header of an answer that is not kept for a retry, although the call is settled. */
const KEPT = 'idempotent-kept'

/** Whether a key was sent, valid or not. */
export function hasIdempotencyKey({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['idempotency-key'] !== undefined
}

const idempotencyKey = /^[\x20-\x7e]{1,255}$/

/** The caller's `Idempotency-Key`. @throws RequestError `parameter_invalid` */
export function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !idempotencyKey.test(key))
    throw new RequestError(
      'parameter_invalid',
      'Idempotency-Key must be 1 to 255 printable ASCII characters',
      'Idempotency-Key',
    )
  return key
}

const bodyHashes = new WeakMap<FastifyRequest, string>()

/** The reader of a body calls this once; two bodies have the same `hash` only if they are the same. */
export function rememberBodyHash(request: FastifyRequest, hash: string): void {
  bodyHashes.set(request, hash)
}

/**
 * SHA-256 of the body's bytes; for a form of its parts without the boundaries; of the empty text
 * without a body.
 */
export function bodyHashOf(request: FastifyRequest): string {
  return bodyHashes.get(request) ?? sha256Hex('')
}

/** Calls under an `Idempotency-Key`: the gateway stores their answers and repeats them. */

const claims = new WeakMap<FastifyRequest, CallClaim>()

/**
 * The key and the hash of the body of a call, once its body was read. @throws RequestError
 * `parameter_invalid`
 */
export function keyedBy(request: FastifyRequest): Pick<CallInput, 'keyed'> {
  const key = idempotencyKeyOf(request)
  if (key === undefined) return {}
  const [path = ''] = request.url.split('?', 1)
  const taken = (claim: CallClaim): void => void claims.set(request, claim)
  return { keyed: { key, path, bodyHash: bodyHashOf(request), taken } }
}

/** Stores the answers of such calls below the plugin before they are sent. */
export function useKeptAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const claim = claims.get(request)
    if (claim === undefined) {
      done(null, payload)
      return
    }
    keepAnswer(claim, reply, payload).then(
      (sent) => done(null, sent),
      (error: unknown) => done(error instanceof Error ? error : new Error('unreadable answer')),
    )
  })
}

/** Headers that belong to the call and are stored; other headers belong to the request. */
const keptHeader = /^(?:content-type|cache-control|x-call-id|x-cost.*|x-price-book|x-should-retry)$/

/** Returns the payload to send, because a stream can be read only once. */
async function keepAnswer(
  claim: CallClaim,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  // A failure of the gateway after the settlement is no answer to repeat.
  const body = reply.statusCode < 500 ? await bytesOf(reply, payload) : undefined
  const headers = Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    keptHeader.test(name) ? [[name, String(value)] as const] : [],
  )
  const answer: KeptAnswer | undefined = body && {
    status: reply.statusCode,
    headers: Object.fromEntries(headers),
    body,
  }
  if ((await claim.keep(answer)) === false) void reply.header(KEPT, 'false')
  return payload instanceof Readable ? (body ?? payload) : payload
}

/** Undefined if it is too long to store, or of unknown length. */
async function bytesOf(reply: FastifyReply, payload: unknown): Promise<Buffer | undefined> {
  if (typeof payload === 'string') return Buffer.from(payload)
  if (Buffer.isBuffer(payload)) return payload
  if (!(payload instanceof Readable)) return undefined
  const lengthBytes = Number(reply.getHeader('content-length') ?? Number.POSITIVE_INFINITY)
  return lengthBytes > MAX_KEPT_ANSWER_BYTES ? undefined : buffer(payload)
}

/** Sends an answer again. */
export function sendRepeated(reply: FastifyReply, { answer }: RepeatedAnswer): FastifyReply {
  return reply
    .code(answer.status)
    .headers(answer.headers)
    .header(REPLAYED, 'true')
    .send(Buffer.from(answer.body))
}
