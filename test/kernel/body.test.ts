import * as fc from 'fast-check'
import t from 'tap'
import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import {
  documentedSchema,
  NotBlank,
  readBody,
  Tagged,
  RefusedMember,
} from '../../src/kernel/body.ts'
import { isDomainError } from '../../src/kernel/errors.ts'
import type { JsonObject } from '../../src/kernel/json.ts'
import { propertyRuns } from '../helpers/property-runs.ts'

/** What is said against a body; undefined where it is taken. */
function refusalOf(schema: TSchema, body: JsonObject) {
  try {
    readBody(schema, body)
    return undefined
  } catch (error) {
    if (!isDomainError(error, 'invalid_request')) throw error
    return { message: error.message, ...error.details }
  }
}

const Reference = Type.Object({ url: Type.String({ maxLength: 20 }) })
const Boat = Type.Object(
  {
    name: Type.String({ maxLength: 5, ...NotBlank }),
    sails: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
    knots: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    speed: Type.Optional(Type.Number()),
    afloat: Type.Optional(Type.Boolean()),
    kind: Type.Optional(Type.Enum(['sloop', 'ketch'])),
    rig: Type.Optional(Type.Enum(['gaff'], { words: 'must be a rig' })),
    crew: Type.Optional(
      Type.Array(Type.Object({ role: Type.Enum(['cook', 'mate']) }), {
        minItems: 1,
        maxItems: 3,
        words: { type: 'must be a crew', required: 'must be there' },
      }),
    ),
    pictures: Type.Optional(Type.Union([Reference, Type.Array(Reference), Type.String()])),
    port: Type.Optional(
      Type.Union([Type.Literal('home'), Reference], { words: 'must be home or elsewhere' }),
    ),
    flag: Type.Optional(
      Type.String({
        check: (flag: string) => (flag === 'red' ? undefined : `must not be ${flag}`),
      }),
    ),
    cargo: Type.Optional(
      Type.Array(
        Tagged('type', [
          Type.Object({ type: Type.Literal('crate'), weight: Type.Number() }),
          Type.Object({ type: Type.Literal('guest'), name: Type.String() }),
        ]),
      ),
    ),
    engine: RefusedMember('is not taken by a sailing boat'),
    strict: Type.Optional(Type.Object({}, { additionalProperties: false })),
  },
  { additionalProperties: true, knownExtraFields: 'anchor rudder' },
)

t.test('a body is refused by its first fault, in plain words', (t) => {
  const refusals: readonly (readonly [JsonObject, param: string, words: string])[] = [
    [{ name: undefined }, 'name', 'is required'],
    [{ name: 5 }, 'name', 'must be a string'],
    [{ name: null }, 'name', 'is required'],
    [{ name: 'x'.repeat(6) }, 'name', 'must be at most 5 characters'],
    [{ name: ' \n' }, 'name', 'must not be empty'],
    [{ name: 'a\0' }, 'name', 'must be well-formed Unicode without NUL characters'],
    [{ name: 'a\ud800' }, 'name', 'must be well-formed Unicode without NUL characters'],
    [{ sails: 11 }, 'sails', 'must be an integer from 1 to 10'],
    [{ sails: 1.5 }, 'sails', 'must be an integer from 1 to 10'],
    [{ sails: '5' }, 'sails', 'must be an integer from 1 to 10'],
    [{ knots: 2 ** 53 }, 'knots', 'must be an integer of at least 0'],
    [{ speed: Number.NaN }, 'speed', 'must be a number'],
    [{ afloat: 'true' }, 'afloat', 'must be true or false'],
    [{ kind: 'x' }, 'kind', 'must be one of sloop, ketch'],
    [{ rig: 5 }, 'rig', 'must be a rig'],
    [{ crew: 'all' }, 'crew', 'must be a crew'],
    [{ crew: [] }, 'crew', 'must have 1 to 3 items'],
    [{ crew: [{ role: 'cook' }, {}] }, 'crew[1].role', 'is required'],
    [{ crew: [{ role: 'cat' }] }, 'crew[0].role', 'must be one of cook, mate'],
    [{ pictures: 5 }, 'pictures', 'must be an object or an array or a string'],
    [{ pictures: [{ url: 'a' }, 5] }, 'pictures[1]', 'must be an object'],
    [{ pictures: { url: 5 } }, 'pictures.url', 'must be a string'],
    [{ pictures: {} }, 'pictures.url', 'is required'],
    [{ port: 'away' }, 'port', 'must be home or elsewhere'],
    [{ cargo: ['crate'] }, 'cargo[0]', 'must be an object'],
    [{ cargo: [{ weight: 1 }] }, 'cargo[0].type', 'must be one of crate, guest'],
    [{ cargo: [{ type: 'cat' }] }, 'cargo[0].type', 'must be one of crate, guest'],
    [{ cargo: [{ type: 'guest', weight: 'x' }] }, 'cargo[0].name', 'is required'],
    [{ cargo: [{ type: 'crate', weight: 'x' }] }, 'cargo[0].weight', 'must be a number'],
    [{ flag: 'black' }, 'flag', 'must not be black'],
    [{ engine: false }, 'engine', 'is not taken by a sailing boat'],
    [{ strict: { x: 1 } }, 'strict.x', 'is not known here'],
  ]
  for (const [changes, param, words] of refusals) {
    const given = Object.entries({ name: 'Ann', ...changes }).filter(([, one]) => one !== undefined)
    const refusal = refusalOf(Boat, Object.fromEntries(given))
    t.match(refusal, { param, message: `\`${param}\` ${words}` }, JSON.stringify(changes))
  }
  const cargo = [
    { type: 'crate', weight: 1 },
    { type: 'guest', name: 'Bo' },
  ]
  const crew = [{ role: 'mate' }]
  const taken = { name: '🦊'.repeat(5), crew, cargo, flag: 'red', unknown: 5 }
  t.equal(readBody(Boat, taken), taken, 'what is taken is the body itself')
  t.end()
})

t.test('the faulty keyword is named, and a member may have its own message for absence', (t) => {
  const words = { required: 'is required and must be a string' }
  const schema = Type.Object({
    model: Type.String({ words }),
    engine: RefusedMember('is not taken'),
  })
  const missing = refusalOf(schema, {})
  t.match(missing, { message: '`model` is required and must be a string', keyword: 'required' })
  t.match(refusalOf(schema, { model: 'x', engine: 1 }), { param: 'engine', keyword: 'not' })
  t.match(refusalOf(schema, { model: 5 }), { message: '`model` must be a string', keyword: 'type' })
  t.end()
})

t.test('a check is called with the name of the member, which may be any text', (t) => {
  const additionalProperties = Type.Unsafe<unknown>({
    check: (value: unknown, name: string) => (value === name ? undefined : `is not ${name}`),
    documented: {},
  })
  const schema = Type.Object({ a: Type.Optional(Type.String()) }, { additionalProperties })
  for (const name of ['b', '7', 'b/c', 'b~1', '']) {
    t.equal(refusalOf(schema, { [name]: name }), undefined)
    t.match(refusalOf(schema, { [name]: 5 }), {
      param: name,
      message: `\`${name}\` is not ${name}`,
    })
  }
  t.same(Reflect.get(Object(documentedSchema(schema)), 'additionalProperties'), {})
  t.end()
})

t.test('only own members are read', (t) => {
  const schema = Type.Object({
    constructor: Type.Optional(Type.String()),
    toString: Type.String(),
  })
  t.match(refusalOf(schema, {}), { param: 'toString', keyword: 'required' })
  const inherited = Object.create({ constructor: 5, toString: 'x' }) as JsonObject
  t.match(refusalOf(schema, inherited), { param: 'toString', keyword: 'required' })
  t.equal(refusalOf(schema, { toString: 'x' }), undefined)
  t.match(refusalOf(schema, { toString: 'x', constructor: 5 }), { param: 'constructor' })
  t.end()
})

t.test('a member that is null counts as left out', (t) => {
  const schema = Type.Object({
    name: Type.String(),
    size: Type.Optional(Type.Integer()),
    items: Type.Optional(Type.Array(Type.Object({ id: Type.Optional(Type.String()) }))),
  })
  const whole = { name: 'x', size: 1, items: [{ id: 'a' }] }
  t.equal(readBody(schema, whole), whole, 'what has none is not copied')
  const nulls = { name: 'x', size: null, items: [{ id: null }] }
  t.same(readBody(schema, nulls), { name: 'x', items: [{}] })
  t.throws(() => readBody(schema, { name: null }), {
    message: '`name` is required',
    details: { param: 'name' },
  })
  // An item is no member.
  t.throws(() => readBody(schema, { name: 'x', items: [null] }), {
    message: '`items[0]` must be an object',
    details: { param: 'items[0]' },
  })
  t.end()
})

t.test('a large body is refused as fast as it is accepted', (t) => {
  const Message = Type.Object({
    role: Type.Enum(['system', 'user', 'assistant']),
    content: Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }))]),
  })
  const schema = Type.Object({ messages: Type.Array(Message) })
  const messages = Array.from({ length: 500_000 }, () => ({ role: 'user', content: 'x' }))
  t.equal(refusalOf(schema, { messages: messages.slice(0, 1) }), undefined, 'it is compiled')
  messages.push({ role: 'pirate', content: 'x' })
  t.match(refusalOf(schema, { messages }), { param: 'messages[500000].role' })
  const wrong = { messages: messages.map(() => 5) }
  const right = { messages: messages.slice(0, -1) }
  const timeOf = (body: Readonly<Record<string, unknown>>): number => {
    const startedMs = performance.now()
    refusalOf(schema, body)
    return performance.now() - startedMs
  }
  t.match(refusalOf(schema, wrong), { param: 'messages[0]' })
  const tries = [1, 2, 3]
  const [refused, accepted] = [wrong, right].map((body) =>
    Math.min(...tries.map(() => timeOf(body))),
  )
  // Who stops at the first fault needs a twentieth; a list of all faults took seven times as long.
  const times = (refused ?? Infinity) / (accepted ?? 0)
  t.ok(times < 1, `refused in ${times.toFixed(2)} times the time`)
  t.end()
})

t.test('the documented schema has no internal keyword and no refused member', (t) => {
  const shown = documentedSchema(
    Type.Object(
      {
        words: Type.Optional(Type.Array(Type.String({ words: 'x', check: () => undefined }))),
        either: Type.Union([
          Type.Object({ a: RefusedMember('no') }),
          Type.Enum(['x'], { words: 'y' }),
        ]),
        engine: RefusedMember('no'),
        tagged: Tagged('type', [Type.Object({ type: Type.Literal('x') })]),
        bytes: Type.Unsafe<unknown>({ check: () => undefined, documented: { type: 'string' } }),
      },
      { examples: [{ words: [] }], knownExtraFields: 'anchor' },
    ),
  )
  t.same(JSON.parse(JSON.stringify(shown)), {
    type: 'object',
    required: ['either', 'tagged', 'bytes'],
    properties: {
      words: { type: 'array', items: { type: 'string' } },
      either: { anyOf: [{ type: 'object', properties: {} }, { enum: ['x'] }] },
      tagged: {
        type: 'object',
        oneOf: [
          {
            type: 'object',
            required: ['type'],
            properties: { type: { type: 'string', const: 'x' } },
          },
        ],
      },
      bytes: { type: 'string' },
    },
    examples: [{ words: [] }],
  })
  t.end()
})

/** Schemas of all kinds, none deep. */
const { schema: anySchema } = fc.letrec<{ schema: TSchema; leaf: TSchema }>((tie) => ({
  leaf: fc.oneof(
    fc.nat({ max: 4 }).map((maxLength) => Type.String({ maxLength })),
    fc.constant(Type.String(NotBlank)),
    fc.nat({ max: 9 }).map((maximum) => Type.Integer({ minimum: 0, maximum })),
    fc.constantFrom<TSchema>(Type.Number(), Type.Boolean(), Type.Null(), Type.Literal('x')),
    fc.constant(Type.Enum(['a', 'b', 5], { words: 'must be another' })),
  ),
  schema: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    tie('leaf'),
    fc
      .tuple(tie('schema'), fc.nat({ max: 2 }))
      .map(([items, minItems]) => Type.Array(items, { minItems, maxItems: 3 })),
    fc
      .array(tie('schema'), { minLength: 1, maxLength: 3 })
      .map((alternatives) => Type.Union(alternatives)),
    fc
      .tuple(tie('schema'), tie('schema'), fc.boolean())
      .map(([a, b, additionalProperties]) =>
        Type.Object(
          { a, b: Type.Optional(b), no: RefusedMember('is not taken') },
          { additionalProperties },
        ),
      ),
  ),
}))
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(true, 'x', 'a', 'b', '', ' ', '🦊🦊', 'long text', 0, 5, -1, 1.5, 1e300),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'no', '__proto__'), tie('value'), { maxKeys: 3 }),
  ),
})).value

t.test('a body is accepted exactly when TypeBox accepts it', (t) => {
  let taken = 0
  fc.assert(
    fc.property(
      anySchema,
      fc.array(anyValue, { minLength: 20, maxLength: 20 }),
      (schema, values) => {
        const body = Type.Object({ member: schema })
        const compiled = Compile(body)
        for (const member of values) {
          const refusal = refusalOf(body, { member })
          taken += refusal === undefined ? 1 : 0
          if (compiled.Check({ member }) !== (refusal === undefined)) return false
          if (refusal && !/^`member[\w.[\]]*` [a-z]/.test(refusal.message)) return false
        }
        return true
      },
    ),
    { numRuns: propertyRuns(300) },
  )
  t.ok(taken > 100, `${taken} were taken`)
  t.end()
})
