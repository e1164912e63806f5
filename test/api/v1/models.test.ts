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
  object: 'model',
  created: Date.UTC(2026, 0, 1) / 1_000,
  owned_by: 'gateway',
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
    data: [{ ...basic, id: 'a/b c%', supported_endpoints: ['/v1/chat/completions'] }, basic],
  })
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

void t.test('query parameters of a list of models are ignored', async (t) => {
  const query = '?client_version=0.1.0&limit=1&after_id=x&limit=2'
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
