import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { startApp } from './support/app.ts'

/**
 * Every operation and every named schema as `/openapi.json` describes it, but for the members of what is sent.
 * `RECORD_OPERATIONS=1` records the list; its difference is what changed for readers of the description.
 */

interface Described {
  readonly operationId?: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: { readonly content: object }
  readonly responses: Readonly<Record<string, object>>
}

const recorded = new URL('../fixtures/operations.txt', import.meta.url)

const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)

function linesOf(place: string, operation: Described): readonly string[] {
  const { operationId, summary, tags = [], parameters = [], requestBody, responses } = operation
  return [
    `${place}: ${operationId}, ${summary} [${tags.join(', ')}]`,
    `  takes ${parameters.map((one) => `${one.in} ${one.name} ${digest(one)}`).join(', ') || 'nothing'}`,
    ...(requestBody ? [`  body ${Object.keys(requestBody.content).join(', ')}`] : []),
    ...Object.entries(responses).map(([status, response]) => `  ${status} ${digest(response)}`),
  ]
}

t.test('every operation is described as recorded', async (t) => {
  const { app } = await startApp({ objects: () => Promise.resolve(undefined) })
  t.teardown(() => app.close())
  const { paths, tags, components } = (await app.inject('/openapi.json')).json<{
    paths: Record<string, Record<string, Described>>
    tags: readonly { name: string; description: string }[]
    components: { readonly schemas: Record<string, object> }
  }>()
  const keywordsOfOurs = /"(?:words|check|knownExtraFields|documented|named)":/
  t.notMatch(
    JSON.stringify([paths, components]),
    keywordsOfOurs,
    'how bodies are read is not shown',
  )
  const lines = [
    ...tags.map(({ name, description }) => `tag ${name}: ${description}`),
    ...Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, one]) => linesOf(`${method} ${path}`, one)),
    ),
    ...Object.entries(components.schemas).map(([name, one]) => `schema ${name} ${digest(one)}`),
  ]
  t.ok(lines.length > 400, `${lines.length} lines`)
  if (process.env['RECORD_OPERATIONS'] === '1') writeFileSync(recorded, `${lines.join('\n')}\n`)
  t.same(lines, readFileSync(recorded, 'utf8').trimEnd().split('\n'))
})
