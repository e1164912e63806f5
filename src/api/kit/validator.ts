import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

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
 * Query strings know only text: where the schema says integer, canonical integer text is read as
 * one. Nothing else is converted and nothing is dropped.
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

/** Compiles TypeBox schemas for Fastify: no coercion of bodies, no defaults, no stripping. */
export const strictValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const compiled = Compile(schema)
  return (value: unknown) => {
    const read = httpPart === 'querystring' ? readQuery(schema, value) : value
    return compiled.Check(read) ? { value: read } : { error: compiled.Errors(read) }
  }
}
