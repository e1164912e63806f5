import * as fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import t from 'tap'
import { asModel } from '../api/support/app.ts'
import { frame } from '../api/support/memory-calls.ts'
import { startText } from '../api/v1/support.ts'
import { atLength } from '../helpers/long-run.ts'
import { propertyRuns } from '../helpers/property-runs.ts'
import { anyChange, anyValue, changed, goodBodies, textComplaint } from './text-support.ts'
import { character } from '../helpers/characters.ts'

const { app, texts } = await startText(t, {
  limits: { bodyBytes: { '/v1': 256 * 1024, '/v1beta': 256 * 1024 } },
})
texts.answer = ({ model }) => ({ model, usage: {} })
texts.steps = () => [frame({ choices: [], usage: null }), frame({ choices: [] })]
const paths = Object.keys(goodBodies)

/** Of so many cases in the long run, which are others each time, a fifth and the same ones in `npm test`. */
const cases = (long: number, seed: number) => ({
  numRuns: propertyRuns(atLength(long / 5, long)),
  ...atLength({ seed }, {}),
})

let accepted = 0

async function attempt(request: InjectOptions & { readonly url: string }): Promise<void> {
  const before = texts.calls.length + texts.streams.length
  const answer = await app.inject(request)
  const wrong = textComplaint(request.url, answer)
  if (wrong !== undefined) throw new Error(wrong)
  const made = [...texts.calls.splice(0), ...texts.streams.splice(0)]
  if (answer.statusCode === 200) accepted += 1
  if (answer.statusCode !== 200 && made.length > 0)
    throw new Error(`${answer.statusCode}, and yet a call was made (${before})`)
  for (const { model, body, inputSize } of made) {
    if (model === '' || Object.hasOwn(body, 'model') || Object.hasOwn(body, 'stream'))
      throw new Error(`not a body for upstream: ${JSON.stringify(body)}`)
    for (const size of [inputSize.characters, inputSize.mediaBytes])
      if (!Number.isSafeInteger(size) || size < 0) throw new Error(`size ${size}`)
  }
}

function post(url: string, payload: string | Buffer): InjectOptions & { readonly url: string } {
  const headers = { ...asModel, 'content-type': 'application/json' }
  return { method: 'POST', url, headers, payload }
}

void t.test('a good body with any change is answered in the family’s shape', async (t) => {
  const ofChanges = cases(1_000, 401)
  for (const path of paths) {
    accepted = 0
    const good = goodBodies[path] ?? {}
    await attempt(post(path, JSON.stringify(good)))
    t.equal(accepted, 1, `${path} takes the body before anything is changed`)
    await fc.assert(
      fc.asyncProperty(fc.array(anyChange, { minLength: 1, maxLength: 3 }), async (changes) => {
        await attempt(post(path, JSON.stringify(changed(good, changes))))
      }),
      ofChanges,
    )
    t.ok(accepted > ofChanges.numRuns / 50, `${accepted} of them are fine`)
    t.ok(accepted < ofChanges.numRuns * 0.99, 'and some are not')
  }
})

void t.test('any JSON is answered in the family’s shape', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), anyValue, async (path, value) => {
      await attempt(post(path, JSON.stringify(value)))
    }),
    cases(600, 402),
  )
  t.pass('was answered in the family’s shape')
})

void t.test('any bytes, and JSON with changed bytes, are answered in shape', async (t) => {
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), damage, async (path, changes) => {
      const bytes = Buffer.from(JSON.stringify(goodBodies[path]))
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte
      await attempt(post(path, bytes))
    }),
    cases(1_000, 403),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.uint8Array({ maxLength: 200 }),
      async (path, bytes) => attempt(post(path, Buffer.from(bytes))),
    ),
    cases(300, 404),
  )
  t.pass('was answered in the family’s shape')
})

const segment = fc.oneof(
  fc.constantFrom(
    'models',
    'chat',
    'completions',
    'responses',
    'gen-3-pro:generateContent',
    'gen-3-pro:streamGenerateContent',
    ':generateContent',
    'a:b:generateContent',
    '%3AgenerateContent',
    'x%2Fy',
    '..',
    '%2e%2e',
    '%00',
    '%',
    '%zz',
    '%c0%80',
    '%ED%A0%80',
    '',
    'a'.repeat(3_000),
  ),
  fc.string({ unit: character, maxLength: 20 }).map((text) => {
    try {
      return encodeURIComponent(text)
    } catch {
      return '%EF%BF%BD'
    }
  }),
)

void t.test('any path, method, query and headers are answered in shape', async (t) => {
  const request = fc.record({
    prefix: fc.constantFrom('/v1', '/v1beta', '/v1beta/models', '/v1/models'),
    segments: fc.array(segment, { maxLength: 3 }),
    query: fc.constantFrom('', '?', '?alt=sse', '?alt=json', '?key=sk-one', '?alt=sse&alt=x', '?%'),
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'),
    headers: fc.constantFrom<Record<string, string>>(
      {},
      asModel,
      asModel,
      { authorization: 'Bearer' },
      { authorization: 'Bearer qak-all' },
      { 'x-native-api-key': 'sk-one' },
      { 'x-api-key': 'sk-one' },
      { 'x-goog-api-key': 'sk-one', 'content-type': 'text/plain' },
      { ...asModel, 'content-type': 'application/json; charset=utf-16' },
      { ...asModel, 'content-type': 'application/json', 'content-encoding': 'br' },
    ),
    body: fc.constantFrom(undefined, '{}', '{"contents":[{"parts":[{"text":"x"}]}]}', '['),
  })
  await fc.assert(
    fc.asyncProperty(request, async ({ prefix, segments, query, method, headers, body }) => {
      const url = `${[prefix, ...segments].join('/')}${query}`
      const answer = await app.inject({
        method: method as 'GET',
        url,
        headers,
        ...(body === undefined || method === 'GET' || method === 'HEAD' ? {} : { payload: body }),
      })
      if (method === 'HEAD' && answer.statusCode < 500) return
      // The test client, like any other, resolves dot segments before it sends.
      const { pathname } = new URL(url, 'http://x')
      if (!/^\/v1(?:beta)?(?:\/|$)/.test(pathname)) return
      const wrong = textComplaint(pathname, answer)
      if (wrong !== undefined) throw new Error(`${method} ${wrong}`)
    }),
    cases(1_500, 405),
  )
  t.pass('was answered in the family’s shape')
})
