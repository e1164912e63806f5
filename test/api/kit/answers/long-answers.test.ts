import Fastify from 'fastify'
import t from 'tap'
import { useLongAnswers } from '../../../../src/api/kit/answers/long-answers.ts'

void t.test('a long list is sent whole', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  useLongAnswers(app)
  const items = Array.from({ length: 1_001 }, (_, id) => ({ id, name: `"é" ${id}` }))
  app.get('/long', () => ({ success: true, data: { items, next: null } }))
  app.get('/short', () => ({ success: true, data: { items: items.slice(0, 2) } }))
  const long = await app.inject('/long')
  t.equal(long.body, JSON.stringify({ success: true, data: { items, next: null } }))
  t.match(long.headers['content-type'], /^application\/json/)
  t.same((await app.inject('/short')).json(), { success: true, data: { items: items.slice(0, 2) } })
})
