import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import type { LRUCache } from 'lru-cache'
import { createLru } from '../../../kernel/lru.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import {
  type Candidate,
  MIN_LETTERS,
  nearestCandidate,
  plainLetters,
} from '../../../kernel/nearest-name.ts'
import {
  counterpartOf,
  type ForeignNames,
  namesIn,
  foreignMemberRefusal,
} from './foreign-members.ts'
import type { ReadForm } from './multipart.ts'
import { RequestError } from '../request-error.ts'

/**
 * Finds members of a body that differ from a known one by case or a letter or two. Other unknown
 * members are passed on. If misspelled members were too, the intended option would silently have no
 * effect.
 */

/** A longer name is no typo of any known one. */
const MAX_LETTERS = 64
/** At most this many unknown names are compared in one body. */
const MAX_COMPARED = 64

/** The most cached names of each object, each with its suggestion. */
const MAX_JUDGED = 256

/** The known members of one object, or of each item of a list. */
interface Known {
  readonly names: ReadonlySet<string>
  /** Names for which a typo can be recognised, in plain letters and as written. */
  readonly candidates: readonly Candidate[]
  /** Cache of the suggestion for a name, `''` for none: callers repeat the same names. */
  readonly judged: LRUCache<string, string>
  readonly inside: ReadonlyMap<string, Known>
}

function memberOf(schema: unknown, name: string): unknown {
  return typeof schema === 'object' && schema !== null ? Reflect.get(schema, name) : undefined
}

/** The spellings of a name that a reader accepts. */
export type Spellings = (name: string) => readonly string[]

interface Described {
  readonly properties: Readonly<Record<string, unknown>>
  /** Further known names, separated by blanks. */
  readonly further: string
}

/** The objects that a value, or an item of it, may be, in any alternative. */
function objectsOf(schema: unknown): readonly Described[] {
  const alternatives = memberOf(schema, 'anyOf') ?? memberOf(schema, 'oneOf')
  const items = memberOf(schema, 'items')
  const below = Array.isArray(alternatives) ? alternatives : [items ?? []].flat()
  const extra = memberOf(schema, 'knownExtraFields')
  const further = typeof extra === 'string' ? extra : ''
  const members = memberOf(schema, 'properties')
  const properties = isJsonObject(members) ? members : {}
  return [...below.flatMap(objectsOf), ...(further === '*' ? [] : [{ properties, further }])]
}

/** The members that a schema knows; undefined if it allows any. */
function knownOf(schema: unknown, spellings: Spellings): Known | undefined {
  const objects = objectsOf(schema)
  const names = objects.flatMap(({ properties, further }) => [
    ...Object.keys(properties),
    ...namesIn(further),
  ])
  if (names.length === 0) return undefined
  const inside = objects.flatMap(({ properties }) =>
    Object.entries(properties).flatMap(([name, member]) => {
      const known = knownOf(member, spellings)
      return known === undefined ? [] : spellings(name).map((one) => [one, known] as const)
    }),
  )
  const candidates = [...new Set(names)]
    .map((name) => [plainLetters(name), name] as const)
    .filter(([plain]) => plain.length >= MIN_LETTERS)
  return {
    names: new Set(names.flatMap(spellings)),
    candidates,
    judged: createLru(MAX_JUDGED),
    inside: new Map(inside),
  }
}

/** Every name that a schema knows, at any depth, in every spelling. */
export function namesKnown(schema: unknown, spellings: Spellings = asWritten): readonly string[] {
  const all = (known: Known): readonly string[] => [
    ...known.names,
    ...[...known.inside.values()].flatMap(all),
  ]
  const known = knownOf(schema, spellings)
  return known === undefined ? [] : all(known)
}

const asWritten: Spellings = (name) => [name]

function meant(name: string, { candidates, judged }: Known): string | undefined {
  if (name.length > MAX_LETTERS) return undefined
  const known = judged.get(name) ?? nearestCandidate(name, candidates) ?? ''
  judged.set(name, known)
  return known === '' ? undefined : known
}

const isSameButForCase = (one: string, other: string): boolean =>
  plainLetters(one) === plainLetters(other)

interface Typo {
  readonly path: string
  /** The message of the refusal. */
  readonly message: string
}

/** Looks through a body; only unknown names are compared. */
function firstTypo(
  body: unknown,
  known: Known,
  foreign: ForeignNames | undefined,
): Typo | undefined {
  let compared = 0
  const ofObject = (value: JsonObject, known: Known, at: string) => {
    const { names, inside } = known
    for (const name in value) {
      const path = at === '' ? name : `${at}.${name}`
      if (names.has(name)) {
        const below = inside.get(name)
        const found = below && look(value[name], below, path)
        if (found) return found
        continue
      }
      // A null member requests nothing.
      if (value[name] === null) continue
      compared += 1
      const one = compared > MAX_COMPARED ? undefined : meant(name, known)
      const isForeign = foreign?.names.has(name) === true && (foreign.isDeep || at === '')
      if (isForeign) {
        const used = counterpartOf(name, names)
        const isSlip = one !== undefined && (used === undefined || isSameButForCase(name, one))
        if (!isSlip) return { path, message: foreignMemberRefusal(path, used) }
      }
      if (one !== undefined)
        return { path, message: `\`${path}\` is not known here: did you mean \`${one}\`?` }
    }
    return undefined
  }
  const look = (value: unknown, known: Known, at: string): Typo | undefined => {
    if (isJsonObject(value)) return ofObject(value, known, at)
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

/** Returns an error that names the first misspelled member of a body, if it has one. */
type TypoCheck = (body: unknown) => RequestError | undefined

/** Check of the names of members in addition to the schema. */
export interface MemberNames {
  readonly spellings?: Spellings
  /** For creations: the members of other interfaces that are refused. */
  readonly foreign?: ForeignNames
}

/** For bodies whose members a schema knows; the names are collected once, here. */
export function typoCheck(
  schema: unknown,
  { spellings = asWritten, foreign }: MemberNames = {},
): TypoCheck {
  const known = knownOf(schema, spellings)
  if (known === undefined) return () => undefined
  return (body) => {
    const found = firstTypo(body, known, foreign)
    return found && new RequestError('parameter_invalid', found.message, found.path)
  }
}

/** Checks the names of the parts of a form, which may continue in brackets. @throws RequestError */
export function refuseTyposInParts(check: TypoCheck): (form: ReadForm) => void {
  return ({ fields, uploads }) => {
    const parts = [...Object.keys(fields), ...uploads.map(({ name }) => name)]
    const error = check(Object.fromEntries(parts.map((name) => [name.replace(/\[.*$/s, ''), true])))
    if (error !== undefined) throw error
  }
}

/** Refuses misspelled members of a body as its own route does. @throws RequestError */
export function typoRefusal(schema: unknown, names: MemberNames = {}): (body: JsonObject) => void {
  const check = typoCheck(schema, names)
  return (body) => {
    const error = check(body)
    if (error !== undefined) throw error
  }
}

/** For routes whose readers check the body: the schema documents it and finds misspelled members. */
export function refuseTypos(names: MemberNames = {}): FastifySchemaCompiler<TSchema> {
  return ({ schema, httpPart }) => {
    if (httpPart !== 'body') return () => true
    const check = typoCheck(schema, names)
    return (value: unknown) => {
      const error = check(value)
      return error === undefined ? true : { error }
    }
  }
}
