import t from 'tap'
import { tokensByScheme } from '../support/app.ts'
import { startText } from './support.ts'

interface Operation {
  readonly tags: readonly string[]
  readonly security?: readonly object[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, Described>>
}
interface Described {
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, unknown>>
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const { app, post } = await startText(t)
const text = (await app.inject('/openapi.json')).body
const { paths } = JSON.parse(text) as Description

const calls = [
  '/v1/chat/completions',
  '/v1/responses',
  '/v1beta/models/{model}:generateContent',
  '/v1beta/models/{model}:streamGenerateContent',
]

void t.test(
  '/openapi.json shows the text routes with their failures and their token',
  async (t) => {
    for (const path of calls) {
      const operation = paths[path]?.['post']
      t.same(operation?.tags, ['Text'], path)
      t.same(operation?.security?.[0], { modelToken: [] })
      for (const status of [200, 400, 401, 402, 403, 404, 413, 415, 429, 500, 502, 503, 504])
        t.ok(operation?.responses[status], `${path} ${status}`)
    }
    t.ok(paths['/v1/models']?.['get']?.responses['401'])
    t.ok(paths['/v1/models/{id}']?.['get']?.responses['404'])
  },
)

void t.test('the examples of /openapi.json are accepted as they stand', async (t) => {
  for (const path of calls) {
    const example = paths[path]?.['post']?.requestBody?.content['application/json']?.example
    t.ok(example, path)
    t.equal((await post(path.replace('{model}', 'gen-3-pro'), example)).statusCode, 200)
  }
})

void t.test('the OpenAPI document names every form, header and credential', async (t) => {
  const answerOf = (path: string, method: string, status = '200') =>
    paths[path]?.[method]?.responses[status]
  const forms = (path: string, method: string) => Object.keys(answerOf(path, method)?.content ?? {})
  const headers = (path: string, method: string, status?: string) =>
    Object.keys(answerOf(path, method, status)?.headers ?? {})
  for (const path of ['/v1/chat/completions', '/v1/responses'])
    t.same(forms(path, 'post'), ['application/json', 'text/event-stream'], path)
  t.same(forms('/v1beta/models/{model}:streamGenerateContent', 'post'), ['text/event-stream'])
  t.same(forms('/api/query/v1/ledger/summary', 'get'), [
    'application/json',
    'text/csv',
    'application/x-ndjson',
  ])
  t.same(forms('/api/query/v1/ledger/lines', 'get'), [
    'application/json',
    'text/csv',
    'application/x-ndjson',
    'application/vnd.apache.parquet',
  ])
  t.same(forms('/metrics', 'get'), ['text/plain'])

  const tasks = '/provA/api/v3/contents/generations/tasks'
  for (const [method, path] of Object.entries({ post: tasks, get: `${tasks}/{id}` }))
    for (const status of ['200', '503'])
      t.ok(headers(path, method, status).includes('x-platform-id'), `${method} ${status}`)
  t.ok(headers(tasks, 'post', '429').includes('retry-after'))
  t.ok(headers(tasks, 'post', '502').includes('x-should-retry'))
  for (const status of ['200', '402', '429']) {
    const named = headers('/v1/responses', 'post', status)
    for (const name of ['x-request-id', 'x-call-id', 'x-ratelimit-remaining-tokens'])
      t.ok(named.includes(name), `${status} ${name}`)
  }
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { responses, security = [] }] of Object.entries(operations)) {
      for (const [status, { headers = {} }] of Object.entries(responses))
        t.ok(headers['x-request-id'], `${method} ${path} ${status}`)
      const schemes = security.flatMap((one) => Object.keys(one))
      const isOpen = !/^\/(?:v1|v1beta|prov[A-D]|api)(?:\/|$)/.test(path)
      const expected =
        path.startsWith('/v1beta') || path.includes('{model}:')
          ? ['modelToken', 'modelKey', 'modelClientKey']
          : path.startsWith('/v1/')
            ? ['modelToken', 'modelApiKey']
            : [schemeOf(path)]
      t.same(schemes, isOpen ? [] : expected, path)
    }
})

function schemeOf(path: string): string {
  if (path.startsWith('/api/user')) return 'profileToken'
  if (path.startsWith('/api/admin')) return 'adminToken'
  return path.startsWith('/api') ? 'queryToken' : 'modelToken'
}

interface Choice {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: { readonly enum?: readonly string[] }
}

void t.test('the refusal of a value outside an enumeration lists the choices', async (t) => {
  const refusalOf = async (url: string, token: string, payload?: object): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` }
    const method = payload === undefined ? 'GET' : 'POST'
    const answer = await app.inject({ url, method, headers, ...(payload && { payload }) })
    t.equal(answer.statusCode, 400, url)
    return answer.body
  }
  let choices = 0
  for (const [path, { get }] of Object.entries(paths)) {
    const parameters = (Object(get).parameters ?? []) as readonly Choice[]
    for (const { name, schema } of parameters) {
      if (schema.enum === undefined) continue
      choices += 1
      const token = tokensByScheme[schemeOf(path)] ?? ''
      const others = parameters.filter(
        (one) => one.in === 'query' && one.required === true && one.name !== name,
      )
      const query = others.map((one) => `${one.name}=${one.schema.enum?.[0] ?? 'x'}&`).join('')
      const filled = path.replace('{month}', '2026-01')
      const said = await refusalOf(`${filled}?${query}${name}=elsewhere`, token)
      t.match(said, `${name} must be one of ${schema.enum.join(', ')}`)
    }
  }
  t.ok(choices >= 4, `${choices} choices of queries`)

  const message = { role: 'user', content: 'x' }
  const tasks = '/provA/api/v3/contents/generations/tasks'
  const task = (part: object, item: object = {}) => ({
    model: 'domestic-video-2-5',
    duration: 5,
    content: [{ type: 'image_url', image_url: { url: 'https://a.example/b' }, ...item }],
    ...part,
  })
  const chat = (part: object) => ({ model: 'text-basic', messages: [message], ...part })
  const native = { contents: [{ role: 'x', parts: [{ text: 'x' }] }] }
  const bodies: readonly (readonly [string, object, allowed: string])[] = [
    [tasks, task({ ratio: 'x' }), 'adaptive, 16:9, 9:16, 1:1, 4:3, 3:4, 21:9'],
    [tasks, task({ resolution: 'x' }), '480p, 720p'],
    [tasks, task({ output_format: 'x' }), 'mp4, mov'],
    [tasks, task({ model: 'domestic-video-2-0', service_tier: 'x' }), 'default, flex'],
    [tasks, task({ tools: [{ type: 'x' }] }), '[{\\"type\\": \\"web_search\\"}]'],
    [tasks, task({}, { type: 'x' }), 'text, image_url, video_url, audio_url'],
    [tasks, task({}, { role: 'x' }), 'reference_image, first_frame, last_frame'],
    [tasks, task({ model: 'x' }), 'domestic-video-2-0, '],
    [
      calls[0] ?? '',
      chat({ messages: [{ role: 'x' }] }),
      'system, developer, user, assistant, tool, function',
    ],
    [calls[0] ?? '', chat({ tools: [{ type: 'x' }] }), 'function, custom, web_search*'],
    [
      calls[1] ?? '',
      { model: 'text-basic', input: [{ ...message, role: 'x' }] },
      'user, assistant, system, developer',
    ],
    [
      calls[1] ?? '',
      { model: 'text-basic', input: 'x', tools: [{ type: 'x' }] },
      'function, custom, mcp',
    ],
    ['/v1beta/models/gen-3-pro:generateContent', native, 'user, model, function, tool'],
    [
      '/v1beta/models/gen-3-pro:generateContent',
      { contents: [{ parts: [{ text: 'x' }] }], tools: [{ googleMaps: {} }] },
      'functionDeclarations, codeExecution',
    ],
  ]
  for (const [url, body, allowed] of bodies)
    t.ok((await refusalOf(url, 'sk-one', body)).includes(allowed), `${url} ${allowed}`)
})
