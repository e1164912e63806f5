import { Ajv, type ErrorObject, type FuncKeywordDefinition } from 'ajv'
import { type Static, type TObject, type TSchema, Type } from 'typebox'
import { invariant } from './assert.ts'
import { DomainError } from './errors.ts'
import { isJsonObject, type JsonObject } from './json.ts'
import { RawString } from './raw-string.ts'
import { textFault } from './storable-text.ts'

/**
 * One schema describes a body: the gateway reads and documents it, and searches it for misspelled
 * names, by the same schema. Besides the keywords of JSON Schema a node may have the gateway's own,
 * which the OpenAPI description does not show:
 *
 * - `words` is the message of a fault in place of the usual one, such as `must be a boat`: one text
 *   for every fault but absence, or a text for each keyword, with `required` for absence;
 * - `check` is a function for rules that no keyword expresses: it gets a value and the member's
 *   name, and returns the message of a fault, or undefined;
 * - `knownExtraFields` are the names, separated by blanks, of members that are accepted without a
 *   description; `*` accepts any name;
 * - `documented` is what the OpenAPI description shows of a node in place of the node's keywords;
 * - `named` is the name under which the description has an object;
 * - `asForm` is the schema of the same body as `multipart/form-data`, where it may be sent so.
 *
 * The refusal of a body with several faults names one of them.
 */

const ownKeywords: ReadonlySet<string> = new Set([
  'words',
  'check',
  'knownExtraFields',
  'asForm',
  // A discriminator would need separate named schemas.
  'discriminator',
])
/** Keywords that hold schemas, beside `properties`. */
const schemasBelow: ReadonlySet<string> = new Set([
  'items',
  'anyOf',
  'oneOf',
  'additionalProperties',
])

/** The refusal of a text by its pattern: people read it, so it shows no regular expression. */
export const WRONG_FORM = 'does not have the form that is accepted here'

/** Pattern of a text that must have a character other than a blank. */
export const NotBlank = { pattern: '\\S' } as const

/** A member that is refused and not documented. */
export const RefusedMember = (words: string) => Type.Optional(Type.Never({ words }))

/**
 * One of several objects that a member such as `type` distinguishes: only faults of the named one
 * count.
 */
export function Tagged<Value>(propertyName: string, oneOf: readonly TObject[]) {
  const tags = oneOf.map(({ properties }) => Reflect.get(properties[propertyName] ?? {}, 'const'))
  const words = { discriminator: `must be one of ${tags.join(', ')}` }
  return Type.Unsafe<Value>({ type: 'object', discriminator: { propertyName }, oneOf, words })
}

type Check = (value: unknown, name: string) => string | undefined
type Validate = ReturnType<NonNullable<FuncKeywordDefinition['compile']>>

/** The parts of which messages are made. */
interface Node {
  readonly [keyword: string]: unknown
  readonly type?: string
  readonly const?: string | number | boolean
  readonly enum?: readonly (string | number)[]
  readonly anyOf?: readonly Node[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly words?: string | Readonly<Record<string, string>>
}

interface FaultParams {
  readonly missingProperty?: string
  readonly additionalProperty?: string
  /** The member that distinguishes several objects. */
  readonly tag?: string
}

/**
 * The check stops at the first fault: a body with half a million faults takes no longer than a
 * valid one.
 */
const ajv = new Ajv({
  allErrors: false,
  verbose: true,
  ownProperties: true,
  strictTypes: false,
  discriminator: true,
  meta: false,
  validateSchema: false,
  keywords: [
    { keyword: 'words', schemaType: ['string', 'object'] },
    { keyword: 'knownExtraFields', schemaType: 'string' },
    { keyword: 'documented', schemaType: 'object' },
    { keyword: 'named', schemaType: 'string' },
    { keyword: 'asForm', schemaType: 'object' },
    {
      keyword: 'check',
      // Checked after all other keywords, so that the value has its type.
      post: true,
      errors: true,
      compile: (check: Check) => {
        const validate: Validate = (value: unknown, place) => {
          const message = check(value, String(place?.parentDataProperty))
          validate.errors = message === undefined ? [] : [{ keyword: 'check', params: {}, message }]
          return message === undefined
        }
        return validate
      },
    },
  ],
})
  .removeKeyword('maxLength')
  // Ajv's own check counts all characters even of a text that is far too long, and accepts text
  // that no store can hold.
  .addKeyword({
    keyword: 'maxLength',
    type: 'string',
    schemaType: 'number',
    before: 'pattern',
    compile: (most: number) => (text: string) => textFault(text, most) === undefined,
  })

/**
 * Reads a body by its schema, which is compiled when it is first used. A member that is null, at any
 * depth, counts as left out: many clients write null for each option that was not given.
 *
 * @param at JSON pointer of the object, where it is a part of a body
 * @throws DomainError `invalid_request` for the first faulty member: `details.param` is its path,
 * such as `content[1].image_url.url`, and `details.keyword` the violated keyword, `required` for a
 * missing member
 */
export function readBody<S extends TSchema>(schema: S, sent: JsonObject, at = ''): Static<S> {
  // Few bodies have such members; the others are not copied.
  const body = hasNulls(sent) ? strippedOf(sent) : sent
  const validate = ajv.compile<Static<S>>(schema)
  if (validate(body)) return body
  const fault = firstFault(validate.errors ?? [])
  invariant(fault, 'what is refused has a fault')
  throw refusalOf(fault, at)
}

function hasNulls(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasNulls)
  if (typeof value !== 'object' || value === null || value instanceof RawString) return false
  for (const name in value) {
    const member: unknown = Reflect.get(value, name)
    if (member === null || (typeof member === 'object' && hasNulls(member))) return true
  }
  return false
}

/** A value without the members of its objects that are null, at any depth. */
function strippedOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strippedOf)
  if (!isJsonObject(value) || value instanceof RawString) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, strippedOf(member)]))
}

/** The members of a body that its schema does not describe. */
export function furtherMembers({ properties }: TObject, body: object): JsonObject {
  const further = Object.entries(body).filter(([name]) => !Object.hasOwn(properties, name))
  return Object.fromEntries(further)
}

/**
 * For a union, the fault of the best alternative: the one whose fault is deepest, or that has the
 * type of the value.
 */
function firstFault(errors: readonly ErrorObject[]): ErrorObject | undefined {
  const fault = errors.at(-1)
  if (fault?.keyword !== 'anyOf') return fault
  const hasWords = ownWords(fault.parentSchema, fault.keyword) !== undefined
  const isBetter = ({ instancePath, keyword }: ErrorObject): boolean =>
    instancePath.length > fault.instancePath.length || (!hasWords && keyword !== 'type')
  const better = errors.slice(0, -1).findLastIndex(isBetter)
  return better === -1 ? fault : firstFault(errors.slice(0, better + 1))
}

function refusalOf(fault: ErrorObject, at: string): DomainError {
  const { keyword, instancePath, parentSchema = {}, params } = fault
  const { missingProperty: missing, additionalProperty: added, tag }: FaultParams = params
  const member = missing ?? added ?? tag
  const param = memberPath(`${at}${instancePath}`, member)
  const node: Node = parentSchema
  // The fault of an absent member is one of its parent.
  const own = ownWords(missing === undefined ? node : node.properties?.[missing], keyword)
  const words = own ?? usualWords(fault, node) ?? 'is not valid'
  return new DomainError('invalid_request', `\`${param}\` ${words}`, { param, keyword })
}

/**
 * A JSON pointer as callers write it, such as `content[1].image_url.url`, with the member below it
 * where that is at fault. A body is an object, so an index is never the first part.
 */
export function memberPath(pointer: string, member?: string): string {
  const parts = pointer.split('/').slice(1)
  const path = parts.map((part, at) =>
    at > 0 && /^\d+$/.test(part)
      ? `[${part}]`
      : `.${part.replaceAll('~1', '/').replaceAll('~0', '~')}`,
  )
  return [...path, ...(member === undefined ? [] : [`.${member}`])].join('').slice(1)
}

function ownWords({ words }: Node = {}, keyword: string): string | undefined {
  if (typeof words === 'object') return words[keyword]
  return keyword === 'required' || keyword === 'additionalProperties' ? undefined : words
}

function usualWords({ keyword, data, message }: ErrorObject, node: Node): string | undefined {
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'type':
    case 'minimum':
    case 'maximum':
    case 'enum':
    case 'const':
    case 'anyOf':
      return `must be ${inWords(node)}`
    case 'maxLength':
      return textFault(String(data), node.maxLength ?? 0)
    case 'minLength':
      return 'must not be empty'
    case 'pattern':
      return node.pattern === NotBlank.pattern ? 'must not be empty' : WRONG_FORM
    case 'minItems':
    case 'maxItems':
      return `must have ${countInWords(node)}`
    case 'additionalProperties':
      return 'is not known here'
    default:
      return message
  }
}

const typesInWords: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'an integer',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

/** Describes which values a schema accepts. */
function inWords({ type = '', const: only, enum: choices, anyOf, minimum, maximum }: Node): string {
  if (anyOf !== undefined) return [...new Set(anyOf.map(inWords))].join(' or ')
  if (only !== undefined) return String(only)
  if (choices !== undefined) return `${choices.length > 1 ? 'one of ' : ''}${choices.join(', ')}`
  const kind = typesInWords[type] ?? type
  if (minimum === undefined) return kind
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? `${kind} of at least ${minimum}`
    : `${kind} from ${minimum} to ${maximum}`
}

function countInWords({ minItems = 0, maxItems }: Node): string {
  if (minItems === maxItems) return `exactly ${minItems} items`
  if (maxItems === undefined) return `at least ${minItems} items`
  return minItems === 0 ? `at most ${maxItems} items` : `${minItems} to ${maxItems} items`
}

/**
 * A schema as the OpenAPI description shows it: without the gateway's keywords and without refused
 * members.
 */
export function documentedSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(documentedSchema)
  if (!isJsonObject(schema)) return schema
  if (schema['documented'] !== undefined) return documentedSchema(schema['documented'])
  const shown = Object.entries(schema).flatMap(([keyword, value]) => {
    if (ownKeywords.has(keyword)) return []
    if (keyword === 'properties') return [[keyword, documentedMembers(Object(value))]]
    return [[keyword, schemasBelow.has(keyword) ? documentedSchema(value) : value]]
  })
  return Object.fromEntries(shown)
}

function documentedMembers(members: JsonObject): JsonObject {
  const taken = Object.entries(members).filter(
    ([, member]) => !(isJsonObject(member) && member['not'] !== undefined),
  )
  return Object.fromEntries(taken.map(([name, member]) => [name, documentedSchema(member)]))
}
