import type { FastifyReply, FastifyRequest } from 'fastify'

/** A hanging request is dropped after this time, even if its caller does not give up. */
const MAX_HANG_MS = 15 * 60_000

/** Closes the connection without an answer. */
export function destroy(reply: FastifyReply): null {
  reply.hijack()
  reply.raw.destroy()
  return null
}

/** Waits, but not longer than the caller does. */
export function pause(waitMs: number, request: FastifyRequest): Promise<void> {
  return new Promise((resolve) => {
    const { socket } = request.raw
    const finish = (): void => {
      clearTimeout(timer)
      socket.off('close', finish)
      resolve()
    }
    const timer = setTimeout(finish, waitMs)
    socket.once('close', finish)
    if (socket.destroyed) finish()
  })
}

/** Never answers; returns when the caller has gone. */
export async function hang(request: FastifyRequest, reply: FastifyReply): Promise<null> {
  reply.hijack()
  await pause(MAX_HANG_MS, request)
  reply.raw.destroy()
  return null
}

/** Announces the whole body, sends half of it and closes the connection. */
export async function sendTruncated(
  reply: FastifyReply,
  status: number,
  bytes: Buffer,
  type = 'application/json',
): Promise<null> {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(status, { 'content-type': type, 'content-length': bytes.length })
  await new Promise<void>((resolve) => {
    raw.once('close', resolve)
    raw.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => {
      raw.destroy()
      resolve()
    })
  })
  return null
}

/** Answers bytes that are not HTTP. */
export async function sendBadHttp(reply: FastifyReply): Promise<null> {
  reply.hijack()
  const { socket } = reply.raw
  await new Promise<void>((resolve) => {
    if (socket === null || socket.destroyed) return resolve()
    socket.once('close', () => resolve())
    socket.end('SSH-2.0-sandbox\r\n', () => socket.destroy())
  })
  return null
}
