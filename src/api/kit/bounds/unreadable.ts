import type { Socket } from 'node:net'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { STATUS_CODES } from '../../../platform/node-http.ts'
import { MAX_UNANSWERED } from './connections.ts'
import type { Answer, Envelope } from '../envelope.ts'
import { RequestError } from '../request-error.ts'

/** Connections with too many requests without an answer: what follows on them is not read as HTTP. */
const refusedSockets = new WeakSet<object>()

/** A request and its answer, which may not have begun. */
interface Exchange {
  readonly request: IncomingMessage
  readonly answer: ServerResponse
}

/** The last request of each connection: an error within its body does not name it. */
const lastExchanges = new WeakMap<object, Exchange>()

/** Records the last request of a connection, for the shape of a later error. */
export function rememberExchange(request: IncomingMessage, answer: ServerResponse): void {
  lastExchanges.set(request.socket, { request, answer })
}

/**
 * Whether bytes that are not HTTP may be answered. The caller would take an answer for that of the
 * earlier request if that one is still in progress, and it would belong to no request if the bytes
 * are the body of an answered one.
 */
function isAnswerable(last: Exchange | undefined): boolean {
  if (last === undefined) return true
  const { request, answer } = last
  if (request.complete) return answer.writableFinished
  // The socket is null while an earlier request of the connection has not been answered.
  return !answer.headersSent && answer.socket !== null
}

/** The URL of the request line, if it was read: of an action the query names it. */
function urlOf(error: Error, last: Exchange | undefined): string {
  const packet: unknown = Reflect.get(error, 'rawPacket')
  const url =
    packet instanceof Buffer
      ? /^[A-Z]+ (\S+)/.exec(packet.subarray(0, 512).toString('latin1'))?.[1]
      : last?.request.url
  return url ?? ''
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
 * the connection; where no answer could be understood, it only closes it.
 */
export function refuseUnreadable(
  error: Error,
  socket: Socket,
  envelopeOf: (url: string) => Envelope,
  requestId: string,
): void {
  const code: unknown = Reflect.get(error, 'code')
  // The refusal ends the connection, after the answers before it.
  if (refusedSockets.has(socket)) return
  const last = lastExchanges.get(socket)
  if (code === 'ECONNRESET' || !socket.writable || !isAnswerable(last)) {
    socket.destroy()
    return
  }
  const answer = envelopeOf(urlOf(error, last))(reasonOf(code), requestId)
  const status = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : answer.status
  socket.end(bytesOf({ ...answer, status }, requestId))
}

/** Answer of a connection before it is closed, if no request was read from it. */
export function unrequestedAnswer(envelope: Envelope, requestId: string): string {
  const error = new RequestError('overloaded', 'Too many connections; nothing was started')
  const answer = envelope(error, requestId)
  return bytesOf({ ...answer, headers: { ...answer.headers, 'retry-after': '1' } }, requestId)
}

/** Answers a request that was pipelined behind too many others, and ends its connection. */
export function refusePipelined(
  { url = '', socket }: IncomingMessage,
  answer: ServerResponse,
  envelopeOf: (url: string) => Envelope,
  requestId: string,
): void {
  refusedSockets.add(socket)
  const words = `More than ${MAX_UNANSWERED} requests of this connection wait for their answers; nothing of this one was started`
  const { status, headers, body } = envelopeOf(url)(
    new RequestError('overloaded', words),
    requestId,
  )
  const text = JSON.stringify(body)
  answer.writeHead(status, {
    'retry-after': '1',
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'x-request-id': requestId,
    connection: 'close',
  })
  answer.end(text)
}

/** The text of an answer for a connection that ends without a response object of Node. */
function bytesOf({ status, headers, body: value }: Answer, requestId: string): string {
  const body = JSON.stringify(value)
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries(headers).map(([name, text]) => `${name}: ${text}`),
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
