import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { RepeatedAnswer } from '../../app/calls/claims/types.ts'
import { STATUS_CODES } from '../../kernel/node-http.ts'
import { sendRepeated } from './idempotency.ts'
import { RequestError } from './request-error.ts'

/** The error shape of one surface. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/**
 * The one place where a surface turns a thrown value into its own error shape; never throws. The
 * request's id is for shapes that repeat it beside `x-request-id`.
 */
export type Envelope = (error: unknown, requestId: string) => Answer

/** Answers a failure in the surface's shape; a failure of the gateway is logged with its cause. */
export function sendFailure(
  envelope: Envelope,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const answer = envelope(error, request.id)
  if (isLeft(error, reply)) request.log.info('the caller left before it was answered')
  else if (answer.status >= 500) request.log.error({ err: error }, 'request failed')
  // A reply that was meant to be audio, for example, may have set its type already.
  void reply.removeHeader('content-type')
  return reply.code(answer.status).headers(answer.headers).send(answer.body)
}

/** Whether a stream ended because its caller disconnected. */
function isLeft(error: unknown, { raw }: FastifyReply): boolean {
  if (!raw.destroyed || !(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** Gives everything below this plugin's prefix one envelope: errors, unknown routes, bad input. */
export function useEnvelope(app: FastifyInstance, envelope: Envelope): void {
  useEnvelopes(app, () => envelope)
}

/** The same if the shape of a failure depends on the request. */
export function useEnvelopes(
  app: FastifyInstance,
  envelopeOf: (request: FastifyRequest) => Envelope,
): void {
  useErrors(app, envelopeOf)
  app.setNotFoundHandler((request, reply) =>
    sendFailure(
      envelopeOf(request),
      new RequestError('route_not_found', 'There is no such route'),
      request,
      reply,
    ),
  )
}

/** For routes below the prefix of another plugin, which answers unknown routes. */
export function useErrors(
  app: FastifyInstance,
  envelopeOf: (request: FastifyRequest) => Envelope,
): void {
  app.setErrorHandler((error: FastifyError | RepeatedAnswer, request, reply) =>
    error instanceof RepeatedAnswer
      ? sendRepeated(reply, error)
      : sendFailure(envelopeOf(request), error, request, reply),
  )
}

/**
 * The last URL of a connection, because an error within a body does not name it. The query is left
 * out, because it may hold a secret.
 */
const lastUrls = new WeakMap<object, string>()

/** Records the URL of a connection, for the shape of a later error. */
export function rememberUrl(socket: Socket, url: string | undefined): void {
  lastUrls.set(socket, url?.replace(/\?.*$/s, '') ?? '')
}

/** The URL of the request line, if it was read. */
function urlOf(error: Error, socket: Socket): string {
  const packet: unknown = Reflect.get(error, 'rawPacket')
  if (!(packet instanceof Buffer)) return lastUrls.get(socket) ?? ''
  return /^[A-Z]+ (\S+)/.exec(packet.subarray(0, 512).toString('latin1'))?.[1] ?? ''
}

function reasonOf(code: unknown): RequestError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new RequestError('headers_too_large', 'The request line and headers are too large')
  return new RequestError(
    'body_invalid',
    code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? 'The request did not arrive in time'
      : 'The request is not valid HTTP',
  )
}

/**
 * Answers a request that Node could not read as HTTP, in the shape that its path shows, and closes
 * the connection.
 */
export function refuseUnreadable(
  error: Error,
  socket: Socket,
  envelopeOf: (url: string) => Envelope,
  requestId: string,
): void {
  const code: unknown = Reflect.get(error, 'code')
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const answer = envelopeOf(urlOf(error, socket))(reasonOf(code), requestId)
  const status = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : answer.status
  const body = JSON.stringify(answer.body)
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
