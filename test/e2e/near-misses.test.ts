import t, { type Test } from 'tap'
import { startStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo, other } = stack

/** Says something to a route below `/api` and answers with its body. */
async function api(token: string, method: string, path: string, body?: unknown) {
  return call(`${url}/api${path}`, {
    method,
    token,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

async function refused(
  t: Test,
  answer: ReturnType<typeof api>,
  param: string | undefined,
  hint: RegExp,
  status = 400,
): Promise<void> {
  const { status: was, body, text } = await answer
  t.equal(was, status, text)
  t.equal(body?.error?.param, param, text)
  t.match(body?.message, hint)
}

const chat = (model: string) =>
  call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
  })

t.test(
  'an unknown filter value is refused on every query, with the nearest known one',
  async (t) => {
    t.equal((await chat('text-basic')).status, 200)
    await stack.caughtUp()
    const operator = await api(demo.adminToken, 'POST', '/admin/tokens', {
      tenant_id: demo.tenantId,
      user_id: demo.userId,
      kind: 'query',
      name: 'operator',
      scope: { level: 'all_tenants' },
    })
    const query = (path: string) => api(operator.body.data.secret, 'GET', `/query/v1${path}`)
    const lists = {
      '/ledger/lines': ['tenant_id', 'user_id', 'model', 'sku'],
      '/ledger/summary': ['tenant_id', 'user_id', 'model', 'sku'],
      '/usage': ['tenant_id', 'user_id', 'token_id', 'model', 'sku'],
      '/logs': ['tenant_id', 'user_id', 'token_id', 'model'],
      '/tasks': ['tenant_id', 'user_id', 'model'],
      '/balance': ['tenant_id'],
      '/assets': ['tenant_id', 'user_id'],
      '/asset-groups': ['tenant_id', 'user_id'],
    }
    const slips: Readonly<Record<string, readonly [slip: string, nearest: RegExp]>> = {
      tenant_id: [
        'tenant_demoo',
        /there is no tenant `tenant_demoo`: did you mean `tenant_demo`\?$/,
      ],
      user_id: ['user_none', /there is no user `user_none`$/],
      token_id: ['token_none', /there is no token `token_none`$/],
      model: ['txt-basic', /there is no model `txt-basic`: did you mean `text-basic`\?$/],
      sku: ['text-basic-imput-token', /did you mean `text-basic-input-token`\?$/],
    }
    for (const [path, names] of Object.entries(lists))
      for (const name of names) {
        const [slip, nearest] = slips[name] ?? ['', /./]
        await refused(t, query(`${path}?${name}=${slip}`), name, nearest)
      }
    await refused(t, query('/ledger/lines?format=csv&model=txt-basic'), 'model', /text-basic/)
    await refused(
      t,
      query(`/ledger/lines?tenant_id=${demo.tenantId}&user_id=user_dem`),
      'user_id',
      /did you mean `user_demo`\?$/,
    )

    await t.test('a known filter value is answered, also with an empty list', async (t) => {
      for (const [name, value] of [
        ['tenant_id', other.tenantId],
        ['user_id', demo.userId],
        ['model', 'text-basic'],
        ['model', 'image-2'],
        ['sku', 'text-basic-input-token'],
      ] as const)
        t.equal((await query(`/ledger/lines?${name}=${value}`)).status, 200, value)
    })
    await t.test('a version alias is read as its model', async (t) => {
      const answer = await query('/ledger/lines?model=artB-5-0-260128')
      t.equal(answer.status, 200, answer.text)
    })
  },
)

t.test('a scoped token gets no suggestion from outside its scope', async (t) => {
  const own = await api(demo.adminToken, 'POST', '/admin/tokens', {
    tenant_id: other.tenantId,
    user_id: other.userId,
    kind: 'query',
    name: 'own',
    scope: { level: 'all_users' },
  })
  const token = own.body.data.secret
  const query = (filter: string) => api(token, 'GET', `/query/v1/ledger/lines?${filter}`)
  for (const tenant of [demo.tenantId, 'tenant_none']) {
    const answer = await query(`tenant_id=${tenant}`)
    t.equal(answer.status, 403, answer.text)
  }
  const [foreign] = (await api(demo.adminToken, 'GET', `/admin/tokens?tenant_id=${demo.tenantId}`))
    .body.data.items
  const usage = (id: string) => api(token, 'GET', `/query/v1/usage?token_id=${id}`)
  const [theirs, none] = [await usage(foreign.id), await usage('token_none')]
  t.equal(theirs.status, 400)
  t.equal(theirs.body.message.replace(foreign.id, ''), none.body.message.replace('token_none', ''))
})

t.test(
  'an unknown model is refused with where it is taken, or with the nearest name',
  async (t) => {
    const restricted = await api(demo.adminToken, 'POST', '/admin/tokens', {
      tenant_id: demo.tenantId,
      user_id: demo.userId,
      kind: 'model',
      name: 'restricted',
      models: ['text-reason', 'artB-5.0'],
    })
    t.equal(restricted.status, 200, restricted.text)
    const ask = async (path: string, body: object, token = demo.modelToken): Promise<string> => {
      const answer = await call(`${url}${path}`, {
        method: 'POST',
        token,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const wires = answer.body?.error?.message ?? answer.body?.base_resp?.status_msg
      return `${answer.status} ${wires ?? answer.text}`
    }
    const messages = [{ role: 'user', content: 'hello' }]
    const chat = (model: string) => ask('/v1/chat/completions', { model, messages })
    t.equal(
      await chat('text-basik'),
      '404 there is no model `text-basik` here: did you mean `text-basic`?',
    )
    t.equal(
      await chat('llama-9'),
      '404 there is no model `llama-9` here: GET /v1/models lists them',
    )
    t.equal(
      await chat('image-2'),
      '404 the model `image-2` is for /v1/images/generations or /v1/images/edits',
    )
    t.match(await chat('artB-5-0-260128'), /^404 the model `artB-5-0-260128` is for \/v1\/images\//)
    t.match(await chat('x'.repeat(250)), /^404 there is no model `x{128}…` here: GET/)
    t.equal(
      await ask('/v1/images/generations', { model: 'text-basic', prompt: 'x' }),
      '404 the model `text-basic` is for /v1/chat/completions or /v1/messages or /v1beta/models/{model}:generateContent or /v1/responses',
    )
    t.equal(
      await ask('/v1/videos', { model: 'domestic-vidoe-2-0', prompt: 'x' }),
      '404 there is no model `domestic-vidoe-2-0` here: did you mean `domestic-video-2-0`?',
    )
    t.equal(
      await ask('/provB/v1/t2a_v2', { model: 'speech-2.8-hb', text: 'x', voice_id: 'nova' }),
      '200 there is no model `speech-2.8-hb` here: did you mean `speech-2.8-hd`?',
    )
    t.equal(
      await ask('/v1/quote', {
        path: '/v1/images/generations',
        body: { model: 'imag-2', prompt: 'x' },
      }),
      '404 there is no model `imag-2` here: did you mean `image-2`?',
    )
    await t.test('only models that the token may use are named', async (t) => {
      const { secret } = restricted.body.data
      const video = (model: string) => ask('/v1/videos', { model, prompt: 'x' }, secret)
      t.equal(
        await video('image-2'),
        '404 there is no model `image-2` here: GET /v1/models lists them',
      )
      t.match(await video('text-reason'), /^404 the model `text-reason` is for /)
    })
  },
)

t.test('a token is not bound to a misspelled model', async (t) => {
  const issue = (models: readonly string[]) =>
    api(demo.adminToken, 'POST', '/admin/tokens', {
      tenant_id: demo.tenantId,
      user_id: demo.userId,
      kind: 'model',
      name: 'bound',
      models,
    })
  await refused(t, issue(['text-basik']), 'models', /`text-basik`: did you mean `text-basic`\?$/)
  await refused(t, issue(['image-2', 'domestic-vidoe-2-0']), 'models', /`domestic-video-2-0`\?$/)
  const made = await issue(['text-basic', 'speech-2.8-hd', 'voice-clone', 'artB-5-0-260128'])
  t.equal(made.status, 200, made.text)
  t.equal(made.body.message, '')
  t.same(made.body.data.models, ['text-basic', 'speech-2.8-hd', 'voice-clone', 'artB-5.0'])
  await refused(
    t,
    api(demo.adminToken, 'PATCH', `/admin/tokens/${made.body.data.id}`, { models: ['txt-basic'] }),
    'models',
    /did you mean `text-basic`\?$/,
  )
  const own = { kind: 'model', name: 'own', models: ['text-basik'] }
  await refused(t, api(other.profileToken, 'POST', '/user/tokens', own), 'models', /text-basic/)

  await t.test('a token for a model that does not exist yet gets a notice', async (t) => {
    const coming = await issue(['llama-9-large'])
    t.equal(coming.status, 200, coming.text)
    t.match(
      coming.body.message,
      /no model has the name `llama-9-large`: the entry has no effect until one has it/,
    )
    t.same(coming.body.data.models, ['llama-9-large'])
  })
})

t.test('404 for a misspelled tenant, on every administrator route', async (t) => {
  const admin = (path: string) => api(demo.adminToken, 'GET', `/admin${path}`)
  for (const path of [
    '/tokens?tenant_id=tenant_demoo',
    '/tenants/tenant_demoo',
    '/tenants/tenant_demoo/budgets',
    '/tenants/tenant_demoo/limits',
    '/tenants/tenant_demoo/balance-alerts',
    '/tenants/tenant_demoo/prices',
    '/tenants/tenant_demoo/reporting',
    '/tenants/tenant_demoo/credit',
  ])
    await refused(t, admin(path), undefined, /does not exist: did you mean `tenant_demo`\?$/, 404)
  await refused(t, admin('/tokens?user_id=user_none'), 'user_id', /no user user_none/, 404)
  const version = (await admin('/price-books')).body.data.items[0].version
  await refused(
    t,
    admin(`/price-books/${version}/what-if?from=2026-01-01T00:00:00Z&tenant_id=tenant_demoo`),
    undefined,
    /did you mean `tenant_demo`\?$/,
    404,
  )
})

t.test('a price for an unknown SKU is refused', async (t) => {
  const price = (sku: string) => ({
    sku,
    currency: 'USD',
    unit: 'token',
    per: 1_000_000,
    price: '2',
  })
  const set = (sku: string, revision = 0) =>
    api(demo.adminToken, 'PUT', `/admin/tenants/${other.tenantId}/prices`, {
      expected_revision: revision,
      prices: [price(sku)],
    })
  await refused(
    t,
    set('text-basik-input-token'),
    'text-basik-input-token',
    /no model or tool is sold at this SKU: did you mean `text-basic-input-token`\?$/,
  )
  const coming = await set('llama-9-large-input-token')
  t.equal(coming.status, 200, coming.text)
  t.match(coming.body.message, /no model or tool is sold at llama-9-large-input-token/)
  t.equal((await set('text-basic-input-token', 1)).body.message, '')

  await t.test('a book with a price for an unknown SKU needs confirmation', async (t) => {
    const [current] = (await api(demo.adminToken, 'GET', '/admin/price-books')).body.data.items
    const { prices } = (await api(demo.adminToken, 'GET', `/admin/price-books/${current.version}`))
      .body.data
    const publish = (sku: string, confirm: boolean) =>
      api(demo.adminToken, 'POST', '/admin/price-books', {
        version: 'near-miss',
        effective_from: '2099-01-01T00:00:00Z',
        prices: [...prices, price(sku)],
        demonstrations: true,
        confirm,
      })
    await refused(
      t,
      publish('text-basik-input-token', false),
      'confirm',
      /it has prices of SKUs that are not sold: text-basik-input-token \(did you mean text-basic-input-token\?\)/,
      409,
    )
    const wanted = await publish('llama-9-large-input-token', true)
    t.equal(wanted.status, 200, wanted.text)
    t.same(wanted.body.data.unsold, [{ sku: 'llama-9-large-input-token', meant: null }])
    const announced = { kind: 'model', name: 'own', models: ['llama-9-large'] }
    const token = await api(other.profileToken, 'POST', '/user/tokens', announced)
    t.match(token.body.message, /llama-9-large/, 'its price is not in effect yet')
  })
})
