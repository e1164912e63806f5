import Fastify from 'fastify'
import { Pool } from 'undici'

/**
 * The least a gateway can do on Fastify and undici: hand a body on, hand the answer back, whatever
 * they are. Nothing is authenticated, read, priced or recorded.
 *
 *     node pass-through.js http://127.0.0.1:UPSTREAM
 */
const upstream = new Pool(process.argv[2] ?? '', { connections: 4_096, pipelining: 1 })
const app = Fastify({ bodyLimit: 128 << 20 })
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.post('/v1/*', async (request, reply) => {
  const answer = await upstream.request({
    method: 'POST',
    path: request.url,
    headers: { 'content-type': request.headers['content-type'] ?? 'application/json' },
    body: request.body as Buffer,
  })
  const { 'content-type': type = 'application/json', 'content-length': length } = answer.headers
  void reply.code(answer.statusCode).header('content-type', type)
  if (length !== undefined) void reply.header('content-length', length)
  return reply.send(answer.body)
})
const url = await app.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 })
process.stdout.write(`${JSON.stringify({ url })}\n`)
process.on('SIGTERM', () => process.exit(0))
