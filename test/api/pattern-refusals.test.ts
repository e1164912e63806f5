import t from 'tap'
import { startApp, tokensByScheme } from './support/app.ts'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: { readonly type?: string; readonly pattern?: string }
}
interface Schema {
  readonly pattern?: string
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
}
interface Media {
  readonly schema: Schema
  readonly example?: Readonly<Record<string, unknown>>
  readonly examples?: Readonly<
    Record<string, { readonly value: Readonly<Record<string, unknown>> }>
  >
}
interface Operation {
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
}

const { app } = await startApp()
t.teardown(() => app.close())
const { paths, components } = (await app.inject('/openapi.json')).json<{
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}>()

/** No text of a pattern is of this form. */
const WRONG = '\u0007é'

t.test('the refusal of a text by its pattern shows no regular expression', async (t) => {
  let refusals = 0
  const refuse = async (method: string, url: string, scheme: string, payload?: object) => {
    const headers = { authorization: `Bearer ${tokensByScheme[scheme] ?? ''}` }
    const answer = await app.inject({
      method: method.toUpperCase() as 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT',
      url: url.replace(/\{\w+\}/g, 'one'),
      headers,
      ...(payload && { payload }),
    })
    const isRefused = answer.statusCode === 400 || /"status_code":[1-9]/.test(answer.body)
    t.ok(isRefused, `${method} ${url} ${answer.body}`)
    t.notMatch(
      answer.body,
      /form that is accepted|pattern|\\\\[dwSsx]|\[\^|\(\?|\{\d+,\d*\}/,
      `${method} ${url}`,
    )
    refusals += 1
  }
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { security = [], parameters = [], requestBody }] of Object.entries(
      operations,
    )) {
      const [scheme = ''] = Object.keys(security[0] ?? {})
      for (const { name, in: place, schema } of parameters)
        if (place === 'query' && schema.pattern !== undefined)
          await refuse(method, `${path}?${name}=${encodeURIComponent(WRONG)}`, scheme)
      const media = requestBody?.content['application/json']
      const { $ref = '' } = media?.schema ?? {}
      const { properties = {} } = components.schemas[$ref.split('/').at(-1) ?? ''] ?? {}
      const example = media?.example ?? Object.values(media?.examples ?? {})[0]?.value ?? {}
      for (const [member, { pattern }] of Object.entries(properties))
        if (pattern !== undefined)
          await refuse(method, path, scheme, {
            ...example,
            [member]: pattern === '\\S' ? ' ' : WRONG,
          })
    }
  t.ok(refusals > 40, `${refusals} refusals`)
})
