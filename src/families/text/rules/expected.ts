import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { TextWireRules } from './wire.ts'

/**
 * Output tokens a call counts towards its token's limit a minute until it ends, where the request
 * names no bound. A guess is enough there; a hold reserves the largest output of the model.
 */
const ASSUMED_OUTPUT_TOKENS = 2_048

/** The most output tokens of a call whose answers have at most `largest` tokens each. */
export function largestOutput(wire: TextWireRules, body: JsonObject, largest: number): number {
  const each = largestAnswer(wire, body, largest)
  return Math.min(each * answersOf(wire, body), Number.MAX_SAFE_INTEGER)
}

/** The most output tokens of one answer of a call. */
export function largestAnswer(wire: TextWireRules, body: JsonObject, largest: number): number {
  return Math.min(boundOf(wire, body) ?? largest, largest)
}

/** Number of alternatives that a call requests. */
export function answersOf(wire: TextWireRules, body: JsonObject): number {
  const { answers } = wire.output
  return (answers === undefined ? undefined : countOf(holderOf(wire, body)[answers])) ?? 1
}

/**
 * Names the members that a caller must lower so that an answer has at most `each` tokens: those in
 * the request that exceed it, or else the wire's. Keeps no reference to the request.
 */
export function boundsAbove(wire: TextWireRules, body: JsonObject): (each: number) => string {
  const { holder, bounds } = wire.output
  const written = given(wire, body).map(([name, value]) => [name, countOf(value)] as const)
  return (each) => {
    const above = written.filter(([, count]) => count === undefined || count > each)
    const names = above.length === 0 ? [bounds[0]] : above.map(([name]) => name)
    return names
      .map((name) => `\`${holder === undefined ? name : `${holder}.${name}`}\``)
      .join(' and ')
  }
}

/**
 * The body with the held number of tokens in each member that bounds the output: it is not known
 * which of several an account follows, and no answer may be longer than its hold. `known` is the
 * only member that an account follows, where its channel says so. A body without a bound gets one:
 * what an account answers without it is unknown. An invalid value stays: the model's largest output
 * is held then, and upstream refuses the value.
 */
export function withHeldBound(
  wire: TextWireRules,
  body: JsonObject,
  { largest, known }: { readonly largest: number; readonly known?: string | undefined },
): JsonObject {
  const written = given(wire, body)
  if (written.some(([, value]) => countOf(value) === undefined)) return body
  const each = largestAnswer(wire, body, largest)
  const names =
    known === undefined && written.length > 0
      ? written.map(([name]) => name)
      : [known ?? wire.output.bounds[0]]
  if (names.length === written.length && names.every((name) => isSet(written, name, each)))
    return body
  const held = Object.fromEntries(names.map((name) => [name, each]))
  const { holder } = wire.output
  const rest = { ...holderOf(wire, body) }
  for (const [name] of written) delete rest[name]
  return holder === undefined ? { ...rest, ...held } : { ...body, [holder]: { ...rest, ...held } }
}

function isSet(written: ReturnType<typeof given>, name: string, value: number): boolean {
  return written.some((one) => one[0] === name && one[1] === value)
}

/** Output tokens that limits per minute assume for a call. */
export function expectedOutput(wire: TextWireRules, body: JsonObject): number {
  return largestOutput(wire, body, boundOf(wire, body) ?? ASSUMED_OUTPUT_TOKENS)
}

/** The caller's bound on the tokens of one answer; undefined if one of its values is invalid. */
function boundOf(wire: TextWireRules, body: JsonObject): number | undefined {
  const holder = holderOf(wire, body)
  let most: number | undefined
  for (const name of wire.output.bounds) {
    const value = givenIn(holder, name)
    if (value === undefined) continue
    const count = countOf(value)
    if (count === undefined) return undefined
    most = Math.max(most ?? 0, count)
  }
  return most
}

/** The members that bound the output, as far as the caller wrote them. */
function given(
  wire: TextWireRules,
  body: JsonObject,
): readonly (readonly [name: string, value: unknown])[] {
  const holder = holderOf(wire, body)
  const members: (readonly [name: string, value: unknown])[] = []
  for (const name of wire.output.bounds) {
    const value = givenIn(holder, name)
    if (value !== undefined) members.push([name, value])
  }
  return members
}

function givenIn(holder: JsonObject, name: string): unknown {
  return Object.hasOwn(holder, name) ? (holder[name] ?? undefined) : undefined
}

function holderOf(wire: TextWireRules, body: JsonObject): JsonObject {
  const { holder } = wire.output
  if (holder === undefined) return body
  const inside = body[holder]
  return isJsonObject(inside) ? inside : {}
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
