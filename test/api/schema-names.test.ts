import t from 'tap'
import { nameSchemas, typeName } from '../../src/api/kit/routes/schema-names.ts'
import { startApp } from './support/app.ts'

interface Schema {
  readonly [keyword: string]: unknown
  readonly properties?: Readonly<Record<string, unknown>>
}

const { app } = await startApp({ objects: () => Promise.resolve(undefined) })
t.teardown(() => app.close())
const { paths, components } = (await app.inject('/openapi.json')).json<{
  readonly paths: object
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}>()
const { schemas } = components

/** The places of objects with members in a part of the description. */
function inlinedIn(part: unknown, place: string): readonly string[] {
  if (typeof part !== 'object' || part === null) return []
  const { type, properties = {} } = part as Schema
  const own = type === 'object' && Object.keys(properties).length > 0 ? [place] : []
  const below = Object.entries(part)
    .filter(([name]) => name !== 'example' && name !== 'examples')
    .flatMap(([name, one]) => inlinedIn(one, `${place}/${name}`))
  return [...own, ...below]
}

t.test('every object with members is a named schema, and each schema has one name', (t) => {
  t.same(inlinedIn(paths, ''), [])
  for (const [name, { properties = {} }] of Object.entries(schemas))
    t.same(inlinedIn(properties, name), [])
  const names = new Map<string, string>()
  for (const [name, { description: _one, examples: _few, ...shape }] of Object.entries(schemas)) {
    t.match(name.replace(/V[12]/, ''), /^[A-Z]?[A-Za-z]*$/, 'no number tells it from another')
    const text = JSON.stringify(shape)
    // Many things have a code and a message, and several actions take the same.
    if (Object.keys(shape.properties ?? {}).length > 2 && !name.endsWith('Request'))
      t.equal(names.get(text), undefined, name)
    names.set(text, name)
  }
  t.ok(names.size > 200, `${names.size} schemas`)
  t.end()
})

t.test('every reference leads to a schema, and every schema is used', (t) => {
  const text = JSON.stringify([paths, schemas])
  const used = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name)
  t.same(new Set(used), new Set(Object.keys(schemas)))
  t.end()
})

/** The choices of a part by the names that generators of clients give them: by their places. */
function choicesIn(part: unknown, place: string): readonly (readonly [string, string])[] {
  const { properties = {}, enum: values, anyOf, oneOf, items } = Object(part)
  const below = Object.entries(properties).flatMap(([member, one]) =>
    choicesIn(one, `${place}${typeName(member)}`),
  )
  return [
    ...(values === undefined ? [] : [[place, JSON.stringify(values)] as const]),
    ...[anyOf ?? [], oneOf ?? [], items ?? []].flat().flatMap((one) => choicesIn(one, place)),
    ...below,
  ]
}

t.test('no schema and no choice has the name of another one, in any spelling of it', (t) => {
  const spelled = (name: string): string => name.toLowerCase()
  const known = new Map(Object.keys(schemas).map((name) => [spelled(name), name]))
  t.equal(known.size, Object.keys(schemas).length)
  const choices = new Map<string, string>()
  for (const [name, schema] of Object.entries(schemas)) {
    t.equal(schema['title'], undefined, 'some generators take a title for the name')
    for (const [place, values] of choicesIn(schema, name)) {
      if (place !== name) t.equal(known.get(spelled(place)), undefined, place)
      t.equal(choices.get(spelled(place)) ?? values, values, place)
      choices.set(spelled(place), values)
    }
  }
  t.ok(choices.size > 50, `${choices.size} choices`)
  t.end()
})

t.test('a member that may be left out has its default in words only', (t) => {
  const defaults = [...JSON.stringify(schemas).matchAll(/"default":/g)]
  t.equal(defaults.length, 0, 'generators of clients require a member that has a default')
  const { n, response_format: format } = Object(schemas['ImageGeneration']?.properties)
  t.equal(n.description, 'Default: `1`.')
  t.equal(format.description, 'Default: `b64_json`.')
  const { ProjectName: project } = Object(schemas['CreateAssetRequest']?.properties)
  t.match(project?.description, /^Must be .+\. Default: `default`\.$/)
  t.end()
})

t.test('a schema whose name another one has is named by its place', (t) => {
  const answerOf = (schema: object) => ({ 200: { content: { 'application/json': { schema } } } })
  const thing = (members: object) => ({
    type: 'object',
    named: 'Thing',
    properties: { part: { type: 'object', properties: members } },
  })
  const described = {
    '/one': { get: { operationId: 'getOne', responses: answerOf(thing({ a: {} })) } },
    '/two': { get: { operationId: 'getTwo', responses: answerOf(thing({ a: {}, b: {} })) } },
    '/same': { get: { operationId: 'getSame', responses: answerOf(thing({ a: {} })) } },
  }
  const names = Object.keys(nameSchemas(described))
  t.same(names, ['AnyObject', 'GetTwoAnswer', 'GetTwoAnswerPart', 'Thing', 'ThingPart'])
  t.match(described['/same'].get.responses[200].content, {
    'application/json': { schema: { $ref: '#/components/schemas/Thing' } },
  })
  t.end()
})
