import type { HTTPMethods } from 'fastify'
import t from 'tap'
import { startApp } from './support/app.ts'

/** A known path without the requested method is 405 that names its methods, before any token is read. */

const read: string[] = []
const { app } = await startApp({
  tokens: {
    authenticate: (secret) => {
      read.push(secret)
      return Promise.resolve({ ok: false, reason: 'unknown' })
    },
  },
})
t.teardown(() => app.close())

interface Operation {
  readonly security?: readonly Readonly<Record<string, unknown>>[]
}
const described = (await app.inject('/openapi.json')).json<{
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}>()
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

const send = (method: HTTPMethods, url: string) =>
  app.inject({ method: method as 'GET', url, headers: { authorization: 'Bearer x' } })

t.test('405 with Allow for each method that a described path does not have', async (t) => {
  let refused = 0
  for (const [path, operations] of Object.entries(described.paths)) {
    const has = Object.keys(operations).map((name) => name.toUpperCase())
    const url = path.replaceAll(/\{[\w*]+\}/g, 'one')
    for (const method of methods.filter((one) => !has.includes(one))) {
      const answer = await send(method, url)
      t.equal(answer.statusCode, 405, `${method} ${url} ${answer.body}`)
      const allow = String(answer.headers.allow).split(', ')
      for (const one of has) t.ok(allow.includes(one), `${url} allows ${allow.join()}`)
      t.notOk(allow.includes(method), `${method} ${url}`)
      t.match(answer.body, `has no ${method}; it has `)
      refused += 1
    }
  }
  t.ok(refused > 200, `${refused} refusals`)
  t.same(read, [], 'no token was read')
})

t.test('405 in the shape of each prefix, without the query', async (t) => {
  const shapes = {
    '/v1/chat/completions': {
      error: { type: 'invalid_request_error', code: 'method_not_allowed', param: null },
    },
    '/v1beta/models/x:generateContent': { error: { code: 405, status: 'UNIMPLEMENTED' } },
    '/v1/models/x:generateContent': { error: { code: 405, status: 'UNIMPLEMENTED' } },
    '/provA/api/v3/contents/generations/tasks/x': { error: { code: 'MethodNotAllowed' } },
    '/provB/v1/t2a_v2': { base_resp: { status_code: 2013 } },
    '/provC/ent/v2/text2video': { code: 405, reason: 'BadRequest' },
    '/api/query/v1/usage': { success: false, error: { code: 'method_not_allowed' } },
    '/api/admin/tenants': { success: false, error: { code: 'method_not_allowed' } },
    '/healthz': { error: { code: 'method_not_allowed' } },
  }
  for (const [url, shape] of Object.entries(shapes)) {
    const answer = await send('PATCH', `${url}?key=hidden`)
    t.equal(answer.statusCode, 405, url)
    t.match(answer.json(), shape, url)
    t.notMatch(answer.body, 'hidden', url)
    t.ok(answer.headers['x-request-id'], url)
  }
})

t.test('HEAD is 405 where there is no GET', async (t) => {
  const answer = await send('HEAD', '/v1/chat/completions')
  t.match(answer, { statusCode: 405, headers: { allow: 'POST' } })
  t.equal((await send('HEAD', '/healthz')).statusCode, 200)
})

t.test('the description has only the methods of a path', async (t) => {
  t.same(Object.keys(described.paths['/v1/chat/completions'] ?? {}), ['post'])
})

t.test('404 not_offered with what there is instead, in the shape of the prefix', async (t) => {
  const v1 = { error: { type: 'invalid_request_error', code: 'not_offered', param: null } }
  const native = { error: { code: 404, status: 'NOT_FOUND', details: [{ reason: 'NOT_OFFERED' }] } }
  const cases = [
    ['POST', '/v1/embeddings', v1, /no embeddings\. GET \/v1\/models/],
    ['POST', '/v1/audio/transcriptions', v1, /does not transcribe/],
    ['POST', '/v1/audio/translations?x=1', v1, /does not transcribe/],
    ['GET', '/v1/responses/resp_1/input_items?limit=1', v1, /input of a response/],
    ['POST', '/v1/responses/resp_1/cancel', v1, /cancels none/],
    ['POST', '/v1/moderations', v1, /provider of a model moderates/],
    ['POST', '/v1/batches', v1, /POST \/v1\/videos/],
    ['GET', '/v1/batches?limit=1', v1, /no batches/],
    ['POST', '/v1/batches/batch_1/cancel', v1, /no batches/],
    ['POST', '/v1/images/variations', v1, /POST \/v1\/images\/edits/],
    ['GET', '/v1/videos/characters?limit=1', v1, /no characters/],
    ['POST', '/v1/videos/video_1/remix', v1, /remixes no video/],
    ['GET', '/v1/chat/completions/chatcmpl-1', v1, /keeps no chat completions/],
    ['POST', '/v1/uploads/upload_1/parts', v1, /POST \/v1\/files/],
    ['GET', '/v1/vector_stores', v1, /no vector stores/],
    ['GET', '/v1/organization/costs', v1, /GET \/v1\/usage/],
    ['POST', '/v1beta/models/x%3AembedContent', native, /no embeddings/],
    ['POST', '/v1/models/x:embedContent?key=x', native, /no embeddings/],
    ['POST', '/v1beta/models/x:batchEmbedContents', native, /no embeddings/],
  ] as const
  for (const [method, url, shape, instead] of cases) {
    const answer = await send(method, url)
    t.equal(answer.statusCode, 404, `${method} ${url} ${answer.body}`)
    t.match(answer.json(), shape, url)
    t.match(answer.json<{ error: { message: string } }>().error.message, instead, url)
    t.equal(answer.headers.allow, undefined, url)
  }
  for (const url of ['/v1/embeddings/x', '/v1/batchesx', '/v1beta/embeddings'])
    t.notMatch((await send('POST', url)).body, 'not_offered', url)
  t.same(read, [], 'no token was read')
})
