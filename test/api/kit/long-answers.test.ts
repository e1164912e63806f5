import * as fc from 'fast-check'
import Fastify from 'fastify'
import t from 'tap'
import { jsonInParts, useLongAnswers } from '../../../src/api/kit/long-answers.ts'
import { atOnce } from '../../../src/kernel/turns.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'

void t.test('an answer in parts is the text that JSON.stringify makes of it', async (t) => {
  const leaf = fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.date({ noInvalidDate: true }))
  const value = fc.oneof(
    leaf,
    fc.array(leaf, { maxLength: 130 }),
    fc.dictionary(fc.string(), fc.oneof(leaf, fc.array(leaf, { maxLength: 130 }))),
  )
  fc.assert(
    fc.property(value, (each) => {
      if (atOnce(jsonInParts(each)) !== JSON.stringify(each)) throw new Error('another text')
    }),
    { numRuns: propertyRuns(200), seed: 3 },
  )
  t.equal(atOnce(jsonInParts({ a: [], b: undefined })), '{"a":[]}')
})

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
