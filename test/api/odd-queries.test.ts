import type { HTTPMethods } from 'fastify'
import t from 'tap'
import { startApp, tokensByScheme } from './support/app.ts'

interface Operation {
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly responses: Readonly<Record<string, { readonly description: string }>>
}

const { app } = await startApp({ objects: () => Promise.resolve(undefined) })
t.teardown(() => app.close())
const { paths } = (await app.inject('/openapi.json')).json<{
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}>()

/** Queries and paths that every route refuses, and queries that some do. */
function oddUrls(path: string, { parameters = [] }: Operation): readonly string[] {
  const url = path.replaceAll(/\{\w+\}/g, 'one')
  const known = parameters.filter((one) => one.in === 'query').map(({ name }) => name)
  return [
    `${url}?unheard_of=1`,
    `${url}?unheard_of=%00`,
    ...known.map((name) => `${url}?${name}=a&${name}=b`),
    ...known.map((name) => `${url}?${name}=%00`),
    ...(path.includes('{') ? [path.replaceAll(/\{\w+\}/g, 'a%00')] : []),
  ]
}

t.test('the refusal of an odd query or path has a status that its route describes', async (t) => {
  let refusals = 0
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations)) {
      const [scheme = ''] = Object.keys(operation.security?.[0] ?? {})
      for (const url of oddUrls(path, operation)) {
        const answer = await app.inject({
          method: method.toUpperCase() as HTTPMethods & 'GET',
          url,
          headers: { authorization: `Bearer ${tokensByScheme[scheme] ?? ''}` },
        })
        const { statusCode: status, body } = answer
        t.ok(operation.responses[status], `${method} ${url} ${status} ${body.slice(0, 300)}`)
        if (status === 400) refusals += 1
      }
    }
  t.ok(refusals > 200, `${refusals} refusals`)
})
