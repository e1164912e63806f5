import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { useEnvelope } from '../../../src/api/kit/envelope.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { until } from '../../helpers/eventually.ts'
import { call, type Line, loggingServer, post } from './support/leaving.ts'

/** What is logged of a request whose caller has gone before it is answered. */
async function leave(
  t: Test,
  answer: (reply: FastifyReply) => FastifyReply,
): Promise<readonly Line[]> {
  const { app, logged } = loggingServer(t)
  useEnvelope(app, () => ({ status: 500, headers: {}, body: {} }))
  let answered = false
  app.post('/', async (_request, reply) => {
    await once(reply.raw, 'close')
    answered = true
    return answer(reply)
  })
  const socket = await call(app, post('/'))
  await until(() => logged.some(({ msg }) => msg === 'incoming request'))
  const arrived = logged.length
  socket.resetAndDestroy()
  await until(() => answered && logged.length > arrived)
  return logged.slice(arrived)
}

void t.test('a stream to a caller who has gone is not logged as a gateway error', async (t) => {
  const logged = await leave(t, (reply) => reply.send(Readable.from(['a', 'b'])))
  t.match(logged[0], { level: 30, msg: 'the caller left before it was answered' })
})

void t.test('an error of the gateway is logged even when the caller has gone', async (t) => {
  const logged = await leave(t, () => {
    throw new Error('no')
  })
  t.match(logged[0], { level: 50, msg: 'request failed', err: { message: 'no' } })
})

void t.test('a known outcome is logged by its code, without a stack', async (t) => {
  const [line] = await leave(t, () => {
    throw new DomainError('suspected_black_image', 'The image is entirely black', {})
  })
  t.match(line, { level: 40, msg: 'request failed', code: 'suspected_black_image' })
  t.notMatch(JSON.stringify(line), /stack| at /)
})
