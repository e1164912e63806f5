import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { isJsonObject } from '../../kernel/json.ts'
import {
  type Candidate,
  MIN_LETTERS,
  nearestCandidate,
  plainLetters,
} from '../../kernel/nearest-name.ts'
import { foreignMember } from './foreign-members.ts'
import { namesIn } from './names.ts'
import { RequestError } from './request-error.ts'

/**
 * Members of a body that are a known one but for case or a letter or two. Others that nobody knows
 * are passed on; these would be, too, and what was meant would silently not happen.
 */

/**
 * Names that are taken or passed on and that the schema does not describe, blanks between them, by
 * the object that has them: `''` is the body, then as in `messages[]` and
 * `generationConfig.thinkingConfig`.
 */
export type AlsoKnown = Readonly<Record<string, string>>

/** A longer name is no slip of any known one. */
const MAX_LETTERS = 64
/** Names that nobody knows are compared up to this many in one body. */
const MAX_COMPARED = 64

/** Names kept with what was meant by them, of each object. */
const MAX_JUDGED = 256

/** What is known of one object, or of the items of one list. */
interface Known {
  readonly names: ReadonlySet<string>
  /** Those that a slip can be told of, in plain letters and as they are written. */
  readonly candidates: readonly Candidate[]
  /** What names that came before were meant to be, `''` for nothing: callers send the same again. */
  readonly judged: BoundedMap<string, string>
  readonly inside: ReadonlyMap<string, Known>
  readonly isList: boolean
}

function memberOf(schema: unknown, name: string): unknown {
  return typeof schema === 'object' && schema !== null ? Reflect.get(schema, name) : undefined
}

/** The alternative that describes members; a schema without alternatives is its own. */
function describing(schema: unknown): unknown {
  const alternatives = memberOf(schema, 'anyOf')
  if (!Array.isArray(alternatives)) return schema
  return alternatives.find((one) => memberOf(one, 'properties') ?? memberOf(one, 'items'))
}

/** Ways to write a name that are one to the reader. */
type Spellings = (name: string) => readonly string[]

/** What a schema knows below a path; undefined where it leaves the members open. */
function knownOf(
  given: unknown,
  path: string,
  also: AlsoKnown,
  spellings: Spellings,
): Known | undefined {
  const schema = describing(given)
  const items = memberOf(schema, 'items')
  if (items !== undefined) {
    const known = knownOf(items, `${path}[]`, also, spellings)
    return known && { ...known, isList: true }
  }
  const properties = memberOf(schema, 'properties')
  if (!isJsonObject(properties)) return undefined
  const names = [...Object.keys(properties), ...namesIn(also[path] ?? '')]
  if (names.length === 0) return undefined
  const inside = Object.entries(properties).flatMap(([name, member]) => {
    const known = knownOf(member, path === '' ? name : `${path}.${name}`, also, spellings)
    return known === undefined ? [] : spellings(name).map((one) => [one, known] as const)
  })
  const candidates = names
    .map((name) => [plainLetters(name), name] as const)
    .filter(([plain]) => plain.length >= MIN_LETTERS)
  return {
    names: new Set(names.flatMap(spellings)),
    candidates,
    judged: new BoundedMap(MAX_JUDGED),
    inside: new Map(inside),
    isList: false,
  }
}

function meant(name: string, { candidates, judged }: Known): string | undefined {
  if (name.length > MAX_LETTERS) return undefined
  const known = judged.get(name) ?? nearestCandidate(name, candidates) ?? ''
  judged.set(name, known)
  return known === '' ? undefined : known
}

interface Misspelt {
  readonly path: string
  /** What is said of it. */
  readonly message: string
}

/** Looks through a body; only names that nobody knows are compared. */
function firstMisspelt(body: unknown, known: Known, foreign: boolean): Misspelt | undefined {
  let compared = 0
  const ofObject = (value: object, known: Known, at: string) => {
    const { names, inside } = known
    for (const name in value) {
      const path = at === '' ? name : `${at}.${name}`
      if (names.has(name)) {
        const below = inside.get(name)
        const found = below && look((value as Readonly<Record<string, unknown>>)[name], below, path)
        if (found) return found
        continue
      }
      compared += 1
      const one = compared > MAX_COMPARED ? undefined : meant(name, known)
      if (one !== undefined)
        return { path, message: `\`${path}\` is not known here: did you mean \`${one}\`?` }
      const elsewhere = foreign && at === '' ? foreignMember(name, names) : undefined
      if (elsewhere !== undefined) return { path, message: elsewhere }
    }
    return undefined
  }
  const look = (value: unknown, known: Known, at: string): Misspelt | undefined => {
    if (!known.isList) return isJsonObject(value) ? ofObject(value, known, at) : undefined
    if (!Array.isArray(value)) return undefined
    for (let index = 0; index < value.length; index += 1) {
      const item: unknown = value[index]
      const found = isJsonObject(item) ? ofObject(item, known, `${at}[${index}]`) : undefined
      if (found) return found
    }
    return undefined
  }
  return look(body, known, '')
}

/** Tells the first misspelt member of a body, if it has one. */
export type TellMisspelt = (body: unknown) => RequestError | undefined

/** How names of members are judged beside the schema. */
export interface MemberNames {
  readonly spellings?: Spellings
  /** Of a creation: members that another interface has are refused. */
  readonly foreign?: boolean
}

/** For bodies of which a schema describes the members; what else is known is looked up once, here. */
export function misspeltIn(
  schema: unknown,
  also: AlsoKnown,
  { spellings = (name) => [name], foreign = false }: MemberNames = {},
): TellMisspelt {
  const known = knownOf(schema, '', also, spellings)
  if (known === undefined) return () => undefined
  return (body) => {
    const found = firstMisspelt(body, known, foreign)
    return found && new RequestError('parameter_invalid', found.message, found.path)
  }
}

/** For routes whose readers judge the body: its schema documents it, and tells misspelt members. */
export function refuseMisspelt(
  also: AlsoKnown,
  spellings?: Spellings,
): FastifySchemaCompiler<TSchema> {
  const names = { foreign: true, ...(spellings === undefined ? {} : { spellings }) }
  return ({ schema, httpPart }) => {
    if (httpPart !== 'body') return () => true
    const tell = misspeltIn(schema, also, names)
    return (value: unknown) => {
      const error = tell(value)
      return error === undefined ? true : { error }
    }
  }
}
