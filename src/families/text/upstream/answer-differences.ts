import type { AnswerDifferences } from '../../../domain/catalog/call-rules.ts'
import { countOf, type JsonObject } from '../../../kernel/json.ts'
import { countOrZero, isGiven, objectOf, textOf, upstreamIdOf } from '../../kit/http/fields.ts'
import type { TextRequest } from '../ports.ts'
import type { OutputSize } from '../rules/measure.ts'
import { isSameTier, serviceTierOf } from '../rules/price-members.ts'
import { spliced } from './splice.ts'

const MAX_NAME_LENGTH = 200
/** Continuation of a model name in the name of its version. */
const VERSION = /^[-@:.](?:v?\d[\w.-]*|latest|preview[\w.-]*|exp[\w.-]*)$/
/** An endpoint of an account: its name does not show the model behind it. */
const ENDPOINT = /^ep-/

/** Follows the model and tier that an answer names; the last frame that names them counts. */
interface DifferenceTracker {
  readonly note: (said: { readonly model?: unknown; readonly serviceTier?: unknown }) => void
  /** For the tally: empty if the answer matches the request, or reports nothing. */
  readonly otherwise: () => { readonly answeredOtherwise?: AnswerDifferences }
}

/**
 * Compares with the request to upstream; keeps no other reference to it. `tierMembers` are those of the
 * wire that ask for a tier too.
 */
export function answeredWith(
  { upstreamModel, body }: TextRequest,
  tierMembers?: readonly string[],
): DifferenceTracker {
  const askedTier = serviceTierOf(body, tierMembers)
  let model: string | undefined
  let serviceTier: string | undefined
  return {
    note: (said) => {
      model = textOf(said.model) ?? model
      serviceTier = textOf(said.serviceTier) ?? serviceTier
    },
    otherwise: () => {
      const other: AnswerDifferences = {
        ...(model === undefined || isSameModel(upstreamModel, model)
          ? {}
          : { model: model.slice(0, MAX_NAME_LENGTH) }),
        ...(serviceTier === undefined || isSameTier(askedTier, serviceTier)
          ? {}
          : { serviceTier: serviceTier.slice(0, MAX_NAME_LENGTH) }),
      }
      return Object.keys(other).length === 0 ? {} : { answeredOtherwise: other }
    },
  }
}

/** Whether an answer names the model that was asked for, or a version of it. */
function isSameModel(asked: string, answered: string): boolean {
  if (asked === answered || ENDPOINT.test(asked)) return true
  const [one, other] = [nameOf(asked), nameOf(answered)]
  return isVersion(one, other) || isVersion(other, one)
}

function isVersion(name: string, version: string): boolean {
  return version.startsWith(name) && (name === version || VERSION.test(version.slice(name.length)))
}

/** The name without the vendor or folder before it, and without `-latest`. */
function nameOf(name: string): string {
  return (name.toLowerCase().split('/').at(-1) ?? '').replace(/-latest$/, '')
}

/**
 * Cache figures of the chat and responses wires. Upstreams differ in the names of cache writes; those
 * our callers see come first.
 */
export const WRITTEN = ['cached_write_tokens', 'cache_write_tokens', 'cache_creation_input_tokens']
export const WRITTEN_5M = [
  'cached_write_5m_tokens',
  'cache_write_5m_tokens',
  'ephemeral_5m_input_tokens',
]
export const WRITTEN_1H = [
  'cached_write_1h_tokens',
  'cache_write_1h_tokens',
  'ephemeral_1h_input_tokens',
]

/** Other names of the tokens read from a cache, in the details or in the usage itself. */
const READ_ELSEWHERE = ['cached_tokens', 'cache_read_input_tokens', 'prompt_cache_hit_tokens']

const writeNames = new Set([...WRITTEN, ...WRITTEN_5M, ...WRITTEN_1H, 'cache_creation'])

/** Whether a name is one of cache writes, or of the object that holds them. */
export function isWriteName(name: string): boolean {
  return writeNames.has(name)
}

/** Whether a `usage` or its details mention cache writes at all; most mention none. */
export function mentionsWrites(usage: JsonObject): boolean {
  for (const name in usage) if (writeNames.has(name)) return true
  return false
}

export interface CacheUsage {
  readonly read: number
  /** The figure of cache reads is not in `cached_tokens` of the details. */
  readonly isElsewhere?: true
  /** Without a split, all cache writes count as writes of five minutes. */
  readonly written5m: number
  readonly written1h: number
}

/** The first figure found; zero if there is none, undefined if it is not a count. */
function first(places: readonly JsonObject[], names: readonly string[]): number | undefined {
  for (const place of places)
    for (const name of names) if (isGiven(place[name])) return countOrZero(place[name])
  return 0
}

/** The objects in which services report cache writes, in the order in which they count. */
export function placesOfWrites(details: JsonObject, usage: JsonObject): readonly JsonObject[] {
  const split = [objectOf(details['cache_creation']), objectOf(usage['cache_creation'])]
  return [details, usage, ...split]
}

/** Cache figures of the input tokens' details or of `usage`; undefined when one is no count. */
export function cacheUsageOf(details: JsonObject, usage: JsonObject): CacheUsage | undefined {
  const usual = countOrZero(details['cached_tokens'])
  const read = usual === 0 ? readElsewhere(details, usage) : usual
  const isElsewhere = read !== usual ? ({ isElsewhere: true } as const) : {}
  if (!mentionsWrites(details) && !mentionsWrites(usage))
    return read === undefined ? undefined : { read, written5m: 0, written1h: 0, ...isElsewhere }
  const places = placesOfWrites(details, usage)
  const written = first(places, WRITTEN)
  const written5m = first(places, WRITTEN_5M)
  const written1h = first(places, WRITTEN_1H)
  if (
    read === undefined ||
    written === undefined ||
    written5m === undefined ||
    written1h === undefined
  )
    return undefined
  return { read, written5m: Math.max(written5m, written - written1h), written1h, ...isElsewhere }
}

/** The first figure that is not zero; zero if there is none, undefined if it is not a count. */
function readElsewhere(details: JsonObject, usage: JsonObject): number | undefined {
  for (const name of READ_ELSEWHERE) {
    const read = countOrZero(usage[name] ?? details[name])
    if (read !== 0) return read
  }
  return 0
}

/** The details as callers see them: the surface's names, writes only where there were any. */
export function cacheDetails(details: JsonObject): JsonObject {
  const usage = cacheUsageOf(details, {})
  const renamed: Record<string, unknown> = { ...details }
  for (const name of [...WRITTEN, ...WRITTEN_5M, ...WRITTEN_1H]) delete renamed[name]
  if (usage === undefined) return renamed
  const { written5m, written1h } = usage
  if (written5m + written1h > 0) renamed['cached_write_tokens'] = written5m + written1h
  if (written5m > 0) renamed['cached_write_5m_tokens'] = written5m
  if (written1h > 0) renamed['cached_write_1h_tokens'] = written1h
  return renamed
}

/** Counts the output of an answer piece by piece; its usage is checked and estimated by that. */
export class OutputCount {
  #bytes = 0
  #characters = 0

  /** Adds a value if it is a string. */
  add(value: unknown): void {
    if (typeof value !== 'string') return
    this.#bytes += Buffer.byteLength(value)
    this.#characters += value.length
  }

  /** Adds a value if it is a string; not every provider counts reasoning as output. */
  addReasoning(value: unknown): void {
    if (typeof value === 'string') this.#bytes += Buffer.byteLength(value)
  }

  /** @param answers alternatives of which something came */
  size(answers: number): OutputSize {
    return { bytes: this.#bytes, characters: this.#characters, answers }
  }
}

/** Number of alternatives that a request asks for, by the member that sets it. */
export function expectedChoices(value: unknown): number {
  return Math.max(countOf(value) ?? 1, 1)
}

/**
 * Rewrites one member of a JSON object in its text, so that everything else stays byte for byte as
 * upstream wrote it (key order, digits beyond 2⁵³) and no frame is serialised again. If the key
 * occurs exactly once in the text, its place is known without a search through its structure.
 */
export type MemberRewriter = (json: string, parsed: JsonObject) => string

/** Sets a string member that is there to `value`; an absent one is not added. */
export function createMemberRewriter(name: string, value: string): MemberRewriter {
  const key = JSON.stringify(name)
  const replacement = JSON.stringify(value)
  /** The value upstream writes, and how it looks in JSON: the same from frame to frame. */
  let known: string | undefined
  let knownJson = ''
  return (json, parsed) => {
    const current = parsed[name]
    if (typeof current !== 'string' || current === value) return json
    if (current !== known) {
      known = current
      knownJson = JSON.stringify(current)
    }
    const at = json.indexOf(key)
    if (at !== -1 && !json.includes(key, at + 1)) {
      let from = at + key.length
      while (json[from] === ' ' || json[from] === ':') from += 1
      if (json.startsWith(knownJson, from))
        return json.slice(0, from) + replacement + json.slice(from + knownJson.length)
    }
    return spliced(json, { [name]: replacement })
  }
}

/** Puts the gateway's id into an answer or the frames of one, and keeps upstream's. */
interface IdRewriter {
  readonly rewrite: MemberRewriter
  /** Undefined as long as upstream has named none that can be kept. */
  readonly upstreamId: () => string | undefined
}

const FIRST_MEMBER = /^\s*\{\s*"(\w+)"\s*:\s*/

/**
 * Sets the member with the id of an answer, which most upstreams write first: then it is replaced
 * without a search. An absent one becomes the first member.
 */
export function createIdRewriter(name: string, id: string): IdRewriter {
  const written = JSON.stringify(id)
  let upstreamId: string | undefined
  /** The text up to the end of upstream's id, and its replacement: the same from frame to frame. */
  let begin: { readonly known: string; readonly shown: string } | undefined
  const rewrite: MemberRewriter = (json, parsed) => {
    if (begin !== undefined && json.startsWith(begin.known))
      return begin.shown + json.slice(begin.known.length)
    const current = parsed[name]
    upstreamId ??= upstreamIdOf(current)
    if (current === undefined) return withFirstMember(json, parsed, `"${name}":${written}`)
    if (typeof current !== 'string') return spliced(json, { [name]: written })
    const [head = '', first] = FIRST_MEMBER.exec(json) ?? []
    const known = head + JSON.stringify(current)
    if (first !== name || !json.startsWith(known))
      return createMemberRewriter(name, id)(json, parsed)
    begin = { known, shown: head + written }
    return begin.shown + json.slice(known.length)
  }
  return { rewrite, upstreamId: () => upstreamId }
}

function withFirstMember(json: string, parsed: JsonObject, member: string): string {
  const from = json.indexOf('{') + 1
  const comma = Object.keys(parsed).length === 0 ? '' : ','
  return `${json.slice(0, from)}${member}${comma}${json.slice(from)}`
}
