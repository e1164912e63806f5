import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Envelope } from './envelope.ts'
import { RequestError } from './request-error.ts'

/**
 * What a connection last asked for: an error in the middle of a body does not say. Without the query,
 * which may be a secret.
 */
const lastUrls = new WeakMap<object, string>()

/** Notes what a connection asks for, for an answer it may need later. */
export function rememberUrl(socket: Socket, url: string | undefined): void {
  lastUrls.set(socket, url?.replace(/\?.*$/s, '') ?? '')
}

/** The URL of the request line, where so much was read. */
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
 * Answers what Node could not read as HTTP in the shape of the family it was meant for, as far as
 * that can be told, and closes the connection.
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
