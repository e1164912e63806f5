import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import Fastify, { type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { useEnvelope } from '../../../src/api/kit/envelope.ts'
import { until } from '../../helpers/eventually.ts'

interface Line {
  readonly level: number
  readonly msg: string
}

/** What is logged of a request whose caller has gone before it is answered. */
async function leave(
  t: Test,
  answer: (reply: FastifyReply) => FastifyReply,
): Promise<readonly Line[]> {
  const logged: Line[] = []
  const write = (line: string): void => void logged.push(JSON.parse(line) as Line)
  const app = Fastify({ logger: { stream: { write } } })
  t.teardown(() => app.close())
  useEnvelope(app, () => ({ status: 500, headers: {}, body: {} }))
  let answered = false
  app.post('/', async (_request, reply) => {
    await once(reply.raw, 'close')
    answered = true
    return answer(reply)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(
    'POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
  )
  await until(() => logged.some(({ msg }) => msg === 'incoming request'))
  socket.resetAndDestroy()
  const arrived = logged.length
  await until(() => answered && logged.length > arrived)
  return logged.slice(arrived)
}

void t.test('a stream to a caller who has gone is no fault of ours', async (t) => {
  const logged = await leave(t, (reply) => reply.send(Readable.from(['a', 'b'])))
  t.match(logged[0], { level: 30, msg: 'the caller left before it was answered' })
})

void t.test('what fails of itself is told, whoever has gone', async (t) => {
  const logged = await leave(t, () => {
    throw new Error('no')
  })
  t.match(logged[0], { level: 50, msg: 'request failed', err: { message: 'no' } })
})
