import t from 'tap'
import { asModel, principals } from '../support/app.ts'
import { startText } from './support.ts'

const { app, texts } = await startText(t, {
  tokens: {
    authenticate: async (secret) => {
      const principal = principals['sk-one']
      await Promise.resolve()
      if (secret !== 'sk-one' || principal === undefined) return { ok: false, reason: 'unknown' }
      return { ok: true, principal: { ...principal, models: new Set(['text-basic', 'a/b c%']) } }
    },
  },
})
texts.models.push({ id: 'a/b c%', families: ['chat', 'x'] })

const basic = {
  id: 'text-basic',
  display_name: 'text-basic',
  object: 'model',
  created: Date.UTC(2026, 0, 1) / 1_000,
  owned_by: 'gateway',
  type: 'model',
  created_at: '2026-01-01T00:00:00.000Z',
  max_tokens: null,
  max_input_tokens: null,
  capabilities: null,
  line: null,
  lifecycle: 'active',
  deprecated_at: null,
  supported_endpoints: ['/v1/chat/completions', '/v1/responses'],
}

async function get(path: string, headers: Record<string, string> = asModel) {
  return app.inject({ url: `/v1/models${path}`, headers })
}

void t.test('lists the models that the token may use, by name', async (t) => {
  const answer = await get('')
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), {
    object: 'list',
    data: [
      {
        ...basic,
        id: 'a/b c%',
        display_name: 'a/b c%',
        supported_endpoints: ['/v1/chat/completions'],
      },
      basic,
    ],
    first_id: 'a/b c%',
    last_id: 'text-basic',
    has_more: false,
  })
})

void t.test('a list comes in pages where it is asked for so, in either direction', async (t) => {
  interface Page {
    readonly data: readonly { readonly id: string }[]
    readonly first_id: string | null
    readonly last_id: string | null
    readonly has_more: boolean
  }
  const page = async (query: string): Promise<Page> => (await get(query)).json<Page>()
  const idsOf = ({ data }: Page) => data.map(({ id }) => id)
  const first = await page('?limit=1')
  t.match(first, { first_id: 'a/b c%', last_id: 'a/b c%', has_more: true })
  const second = await page(`?limit=1&after_id=${encodeURIComponent(String(first.last_id))}`)
  t.same(idsOf(second), ['text-basic'])
  t.equal(second.has_more, false)
  t.same(await page(`?limit=1&before_id=${second.first_id}`), { ...first, has_more: false })
  t.match(await page('?limit=1&before_id=zz'), { first_id: 'text-basic', has_more: true })
  t.same(await page('?after_id=zz'), {
    object: 'list',
    data: [],
    first_id: null,
    last_id: null,
    has_more: false,
  })
  t.same(await page('?limit=1000'), await page(''))
  for (const [query, param] of [
    ['?limit=0', 'limit'],
    ['?limit=1001', 'limit'],
    ['?limit=two', 'limit'],
    ['?after_id=a&before_id=b', 'before_id'],
    [`?after_id=${'x'.repeat(257)}`, 'after_id'],
  ] as const) {
    const answer = await get(query)
    t.match(
      { status: answer.statusCode, body: answer.json() },
      { status: 400, body: { error: { param, code: 'invalid_value' } } },
      query,
    )
  }
})

void t.test('the token may come in x-api-key, below a bearer token', async (t) => {
  const list = (await get('')).json()
  t.same((await get('', { 'x-api-key': 'sk-one' })).json(), list)
  t.same((await get('', { ...asModel, 'x-api-key': 'sk-other' })).json(), list)
  for (const headers of [
    { 'x-api-key': 'sk-other' },
    { 'x-api-key': '' },
    { authorization: 'Bearer sk-other', 'x-api-key': 'sk-one' },
  ]) {
    const answer = await get('', headers)
    t.equal(answer.statusCode, 401)
    t.match(answer.json(), { error: { code: 'invalid_api_key' } })
  }
})

void t.test('other query parameters of models are ignored', async (t) => {
  const query = '?client_version=0.1.0&beta=true&beta=false'
  t.same((await get(query)).json(), (await get('')).json())
  t.same((await get(`/text-basic${query}`)).json(), { ...basic, prices: [] })
  t.equal((await get(`/a/b%20c%25${query}`)).statusCode, 200)
})

void t.test('shows one model, also with a slash in its name, encoded or not', async (t) => {
  t.same((await get('/text-basic')).json(), { ...basic, prices: [] })
  for (const path of ['/a%2Fb%20c%25', '/a/b%20c%25'])
    t.match((await get(path)).json(), { id: 'a/b c%' }, path)
})

void t.test('404 model_not_found with identical bytes, unknown or forbidden', async (t) => {
  const forbidden = await get('/gen-3-pro')
  t.equal(forbidden.statusCode, 404)
  t.match(forbidden.json(), {
    error: { type: 'invalid_request_error', code: 'model_not_found', param: 'model' },
  })
  for (const path of ['/nothing', '/..%2f..', '/%01', '/__proto__', '/', `/${'x'.repeat(5_000)}`]) {
    const answer = await get(path)
    t.equal(answer.statusCode, 404, path)
    t.equal(answer.body, forbidden.body)
  }
  t.equal((await get('/%zz')).statusCode, 400)
})

void t.test('401 without a token', async (t) => {
  t.equal((await get('', {})).statusCode, 401)
  t.equal((await get('/text-basic', {})).statusCode, 401)
})

void t.test('names the route on which each kind of model is called', async (t) => {
  const wires = {
    'speech-x': ['speech', '/v1/audio/speech', '/provB/v1/t2a_v2', '/provB/v1/t2a_async_v2'],
    'voice-clone': ['speech', '/provB/v1/voice_clone'],
    'clip-x': ['video-c', '/v1/videos'],
    'art-x': ['art-b', '/v1/images/generations'],
  }
  const all = await startText(t)
  for (const [id, [family = '']] of Object.entries(wires))
    all.texts.models.push({ id, families: [family] })
  for (const [id, [, ...endpoints]] of Object.entries(wires)) {
    const answer = await all.app.inject({ url: `/v1/models/${id}`, headers: asModel })
    t.same(answer.json<typeof basic>().supported_endpoints, endpoints, id)
  }
})
