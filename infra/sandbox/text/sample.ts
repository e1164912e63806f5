import { type Fields, isFields, numberIn } from '../kit/body.ts'

const MAX_DEPTH = 12
const MAX_ITEMS = 20

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-15T12:00:00Z',
  date: '2026-01-15',
  time: '12:00:00Z',
  email: 'sample@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

function pointed(ref: string, root: Fields): unknown {
  if (ref === '#') return root
  let at: unknown = root
  for (const step of ref.replace(/^#\//, '').split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = isFields(at) && Object.hasOwn(at, name) ? at[name] : null
  }
  return at
}

function typeOf(schema: Fields): string {
  const { type } = schema
  const named: unknown = Array.isArray(type) ? type.find((one) => one !== 'null') : type
  if (typeof named === 'string') return named.toLowerCase()
  if (schema['properties'] !== undefined) return 'object'
  return schema['items'] === undefined ? 'string' : 'array'
}

function textFor(schema: Fields): string {
  const { format } = schema
  const known = typeof format === 'string' ? FORMATS[format] : undefined
  if (known !== undefined) return known
  const min = Math.min(numberIn(schema, 'minLength') ?? 0, 1000)
  const max = numberIn(schema, 'maxLength') ?? 1000
  return 'sample'.padEnd(min, '.').slice(0, max)
}

function numberFor(schema: Fields, whole: boolean): number {
  const min = numberIn(schema, 'minimum')
  const above = numberIn(schema, 'exclusiveMinimum')
  const max = numberIn(schema, 'maximum')
  let value = min ?? (above === null ? 1 : above + 1)
  if (max !== null && value > max) value = max
  return whole ? Math.ceil(value) : value
}

function objectFor(schema: Fields, root: Fields, depth: number): Fields {
  const { properties } = schema
  if (!isFields(properties)) return {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const names = Object.keys(properties).filter(
    (name) => depth < MAX_DEPTH / 2 || required.includes(name),
  )
  return Object.fromEntries(names.map((name) => [name, sample(properties[name], root, depth + 1)]))
}

function arrayFor(schema: Fields, root: Fields, depth: number): readonly unknown[] {
  const min = numberIn(schema, 'minItems') ?? (depth < MAX_DEPTH / 2 ? 1 : 0)
  const count = Math.min(min, numberIn(schema, 'maxItems') ?? MAX_ITEMS, MAX_ITEMS)
  return Array.from({ length: count }, () => sample(schema['items'], root, depth + 1))
}

function sample(schema: unknown, root: Fields, depth: number): unknown {
  if (!isFields(schema) || depth > MAX_DEPTH) return 'sample'
  const ref = schema['$ref']
  if (typeof ref === 'string') return sample(pointed(ref, root), root, depth + 1)
  if (Object.hasOwn(schema, 'const')) return schema['const']
  if (Array.isArray(schema['enum'])) return schema['enum'][0] ?? null
  for (const name of ['anyOf', 'oneOf']) {
    const list: unknown = schema[name]
    if (Array.isArray(list)) return sample(list[0], root, depth + 1)
  }
  if (Array.isArray(schema['allOf'])) {
    const parts = schema['allOf'].filter(isFields)
    return sample(Object.assign({}, ...parts), root, depth + 1)
  }
  const type = typeOf(schema)
  if (type === 'object') return objectFor(schema, root, depth)
  if (type === 'array') return arrayFor(schema, root, depth)
  if (type === 'integer' || type === 'number') return numberFor(schema, type === 'integer')
  if (type === 'boolean') return true
  return type === 'null' ? null : textFor(schema)
}

/** A value that fits a JSON schema as far as it is plain; the same each time. */
export function sampleOf(schema: unknown): unknown {
  return sample(schema, isFields(schema) ? schema : {}, 0)
}
