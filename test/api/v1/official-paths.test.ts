import { readFileSync, readdirSync } from 'node:fs'
import type { HTTPMethods } from 'fastify'
import t from 'tap'
import { checkout } from '../../helpers/checkout.ts'
import { startApp } from '../support/app.ts'

/** Every request of the official client has a route here, or is answered with what there is instead. */

const resources = new URL('node_modules/openai/resources/', checkout)
/** `_client.get(path `/videos/${id}`` and `_client.post('/videos'`; `getAPIList` is a GET. */
const REQUEST = /_client\.(get|post|put|patch|delete|getAPIList)\((?:path )?['`](\/[^'`]*)['`]/g

function officialRequests(): readonly (readonly [method: string, path: string])[] {
  const files = readdirSync(resources, { recursive: true, encoding: 'utf8' })
  const found = files
    .filter((name) => name.endsWith('.mjs'))
    .flatMap((name) => [...readFileSync(new URL(name, resources), 'utf8').matchAll(REQUEST)])
    .map(([, call = '', path = '']) => {
      const method = call === 'getAPIList' ? 'GET' : call.toUpperCase()
      return `${method} ${path.replaceAll(/\$\{\w+\}/g, 'id_1')}`
    })
  return [...new Set(found)].map((request) => request.split(' ') as [string, string])
}

const { app } = await startApp({
  tokens: { authenticate: () => Promise.resolve({ ok: false, reason: 'unknown' }) },
})
t.teardown(() => app.close())
const { paths } = (await app.inject('/openapi.json')).json<{
  readonly paths: Readonly<Record<string, object>>
}>()

/** The methods of the described path that a path is of. */
function described(path: string): readonly string[] {
  const bare = path.split('?', 1)[0] ?? ''
  const isOf = (pattern: string): boolean =>
    new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(bare)
  const [, operations = {}] = Object.entries(paths).find(([pattern]) => isOf(pattern)) ?? []
  return Object.keys(operations).map((method) => method.toUpperCase())
}

const send = (method: string, path: string) =>
  app.inject({
    method: method as HTTPMethods & 'GET',
    url: `/v1${path}`,
    headers: { authorization: 'Bearer sk-unknown' },
  })

t.test('each is served, not_offered, or 405 that names the methods of its path', async (t) => {
  const answers = { served: 0, notOffered: 0, otherMethods: 0 }
  const requests = officialRequests()
  t.ok(requests.length > 150, `${requests.length} requests`)
  for (const [method, path] of requests) {
    const answer = await send(method, path)
    const what = `${method} ${path} ${answer.statusCode} ${answer.body}`
    const methods = described(`/v1${path}`)
    if (answer.statusCode === 401) {
      t.ok(methods.includes(method), what)
      answers.served += 1
    } else if (answer.statusCode === 405) {
      const allowed = String(answer.headers.allow).split(', ')
      t.same(new Set(allowed.filter((one) => one !== 'HEAD')), new Set(methods), what)
      t.ok(methods.length > 0, what)
      answers.otherMethods += 1
    } else {
      t.match(
        answer.json(),
        { error: { code: 'not_offered', message: /^This gateway .+\. / } },
        what,
      )
      t.equal(answer.statusCode, 404, what)
      t.equal(answer.headers.allow, undefined, what)
      answers.notOffered += 1
    }
  }
  t.ok(answers.served >= 15 && answers.notOffered > 100, JSON.stringify(answers))
  t.ok(answers.otherMethods < 10, JSON.stringify(answers))
})

t.test('a word of an official path is never an id', async (t) => {
  const words = [
    '/images/variations',
    '/videos/characters',
    '/videos/characters/content',
    '/videos/edits',
    '/videos/extensions',
  ]
  for (const word of words)
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE']) {
      const answer = await send(method, word)
      t.equal(answer.statusCode, 404, `${method} ${word}`)
      if (method !== 'HEAD') t.match(answer.json(), { error: { code: 'not_offered' } }, word)
    }
  for (const path of ['/videos/characters_1', '/responses/compacted', '/files/edits/content'])
    t.equal((await send('GET', path)).statusCode, 401, path)
  for (const path of ['/images/generations/async', '/responses/compact', '/responses/input_tokens'])
    t.match(await send('GET', path), { statusCode: 405, headers: { allow: 'POST' } }, path)
})
