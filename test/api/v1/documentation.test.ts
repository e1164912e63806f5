import t from 'tap'
import { startText } from './support.ts'

interface Operation {
  readonly tags: readonly string[]
  readonly security: unknown
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, unknown>>
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const { app, post } = await startText(t)
const { paths } = (await app.inject('/openapi.json')).json<Description>()

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
      t.same(operation?.security, [{ modelToken: [] }])
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
