import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Check } from 'typebox/value'
import { isJsonObject } from '../../../kernel/json.ts'
import { isStorable, toStorable } from '../../../kernel/storable-text.ts'
import { RequestError } from '../request-error.ts'

const integerText = /^(?:0|-?[1-9]\d{0,14})$/

function propertyTypes(schema: TSchema): Readonly<Record<string, unknown>> {
  const properties: unknown = Reflect.get(schema, 'properties')
  return typeof properties === 'object' && properties !== null
    ? (properties as Readonly<Record<string, unknown>>)
    : {}
}

function isInteger(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && Reflect.get(schema, 'type') === 'integer'
}

/**
 * A query string has only text: if the schema says integer, canonical integer text is read as one.
 * No other value is converted or dropped.
 */
function readQuery(schema: TSchema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const types = propertyTypes(schema)
  const read: Record<string, unknown> = { ...value }
  for (const [name, text] of Object.entries(read))
    if (typeof text === 'string' && isInteger(types[name]) && integerText.test(text))
      read[name] = Number(text)
  return read
}

/** Longest name of a parameter that an answer repeats. */
const MAX_SHOWN_CHARACTERS = 64

/** The refusal of the first unknown query parameter of a GET; undefined if all are known. */
function unknownParameter(known: readonly string[], query: unknown) {
  if (typeof query !== 'object' || query === null) return undefined
  const name = Object.keys(query).find((one) => !known.includes(one))
  if (name === undefined) return undefined
  const shown = name.slice(0, MAX_SHOWN_CHARACTERS).replaceAll('~', '~0').replaceAll('/', '~1')
  const those = known.length === 0 ? 'has none' : `has ${known.join(', ')}`
  return [
    {
      keyword: 'additionalProperties',
      schemaPath: '#/additionalProperties',
      params: {},
      instancePath: `/${shown}`,
      message: `is not a query parameter of this route, which ${those}`,
    },
  ]
}

const reading: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/**
 * Compiles TypeBox schemas for Fastify: no coercion of bodies, no defaults, no stripping. A GET
 * refuses unknown query parameters, unless its schema says that it ignores them: with a misspelled
 * filter, it would answer with everything.
 */
export const strictValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart, method }) =>
  strictReader(schema, httpPart, method)

/** Checks a query as its route does, and reads its numbers. */
export const queryReader = (schema: TSchema) => strictReader(schema, 'querystring', 'GET')

function strictReader(schema: TSchema, httpPart: string | undefined, method: string | undefined) {
  const isQuery = httpPart === 'querystring'
  // Compiled for the first request: routes of calls have no such validator, and few other routes
  // are used in the first minute of a process.
  let compiled: ReturnType<typeof Compile> | undefined
  const isOpen = Reflect.get(schema, 'additionalProperties') === true
  const known =
    isQuery && !isOpen && reading.has(method ?? '') ? Object.keys(propertyTypes(schema)) : undefined
  return (value: unknown) => {
    const unknown = known && unknownParameter(known, value)
    if (unknown !== undefined) return { error: unknown }
    const read = isQuery ? readQuery(schema, value) : value
    compiled ??= Compile(schema)
    if (compiled.Check(read)) return { value: read }
    const [first, ...others] = compiled.Errors(read)
    return { error: first === undefined ? [] : [withWords(schema, first), ...others] }
  }
}

/** A fault with the words of its schema, where it has some. */
function withWords<Fault extends { readonly schemaPath: string }>(schema: TSchema, fault: Fault) {
  const node = fault.schemaPath
    .split('/')
    .slice(1)
    .reduce<unknown>((part, name) => Reflect.get(Object(part), name), schema)
  return { ...fault, words: Reflect.get(Object(node), 'words') }
}

/**
 * A body without the members that are null where their schema takes no null: they count as left out.
 * Where it takes null, that is a value, such as "no limit".
 */
export function withoutUnmeantNulls(schema: unknown, value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((item) => withoutUnmeantNulls(Reflect.get(Object(schema), 'items'), item))
  if (!isJsonObject(value)) return value
  const types = propertyTypes(Object(schema))
  const isMeant = (name: string): boolean =>
    !Object.hasOwn(types, name) || Check<TSchema>(Object(types[name]), null)
  const meant = Object.entries(value).filter(([name, member]) => member !== null || isMeant(name))
  return Object.fromEntries(
    meant.map(([name, member]) => [name, withoutUnmeantNulls(types[name], member)]),
  )
}

function unstorableIn(parameters: unknown): string | undefined {
  if (typeof parameters !== 'object' || parameters === null) return undefined
  return Object.entries(parameters).find(([name, value]) =>
    [name, value].flat().some((text) => typeof text === 'string' && !isStorable(text)),
  )?.[0]
}

/**
 * Refuses characters that no store can hold in a path or a query, on every route: Postgres would
 * fail on them. Runs after the token was checked and before anything is read.
 */
export function useStorableParameters(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const name = unstorableIn(request.params) ?? unstorableIn(request.query)
    if (name === undefined) return done()
    const shown = toStorable(name, MAX_SHOWN_CHARACTERS)
    const message = `${shown} holds a NUL character, or is not well-formed Unicode`
    done(new RequestError('parameter_invalid', message, shown))
  })
}

/** Makes GETs that describe no query parameters refuse all of them, for some URLs. */
export function useKnownQueries(app: FastifyInstance, concerns: (url: string) => boolean): void {
  app.addHook('onRoute', (route) => {
    const isReading = [route.method].flat().some((method) => reading.has(method))
    if (!isReading || !concerns(route.url) || route.schema?.querystring !== undefined) return
    route.schema = { ...route.schema, querystring: Type.Object({}) }
  })
}
