import { QUANTIFIER, TOKEN } from './pattern-tokens.ts'

/**
 * Counts the steps of a search by backtracking, as the engine of the language does it. How long a search takes depends on
 * the machine and on what else it does; how many steps it takes does not.
 */

/** A search took more steps than it was allowed. */
export class TooManySteps extends Error {}

/** Where a match begins and ends. */
export type Span = readonly [start: number, end: number]

class Walk {
  steps = 0
  readonly text: string
  readonly #most: number

  constructor(text: string, most: number) {
    this.text = text
    this.#most = most
  }

  step(): void {
    this.steps += 1
    if (this.steps > this.#most) throw new TooManySteps()
  }
}

const NOWHERE = -1
/** What follows a part of a pattern: the end of the whole match, or `NOWHERE`. */
type Next = (at: number) => number
type Part = (walk: Walk, at: number, next: Next) => number
/** The place behind one character, or `NOWHERE`. */
type One = (text: string, at: number) => number

interface Bounds {
  readonly least: number
  readonly most: number
  readonly isLazy: boolean
}

/** Many of one character: no recursion, since there may be thousands. */
function manyOf(one: One, { least, most, isLazy }: Bounds): Part {
  return (walk, at, next) => {
    const ends = [at]
    const more = (): boolean => {
      walk.step()
      const end = ends.length > most ? NOWHERE : one(walk.text, ends.at(-1) ?? at)
      if (end !== NOWHERE) ends.push(end)
      return end !== NOWHERE
    }
    while (ends.length <= least) if (!more()) return NOWHERE
    if (isLazy)
      for (;;) {
        const found = next(ends.at(-1) ?? at)
        if (found !== NOWHERE || !more()) return found
      }
    while (more());
    for (let count = ends.length - 1; count >= least; count -= 1) {
      walk.step()
      const found = next(ends[count] ?? at)
      if (found !== NOWHERE) return found
    }
    return NOWHERE
  }
}

const exactly =
  (one: One): Part =>
  (walk, at, next) => {
    walk.step()
    const end = one(walk.text, at)
    return end === NOWHERE ? NOWHERE : next(end)
  }

function many(part: Part, { least, most, isLazy }: Bounds): Part {
  const from =
    (count: number): Part =>
    (walk, at, next) => {
      walk.step()
      const again = (): number =>
        count >= most
          ? NOWHERE
          : // A repetition of nothing would never end.
            part(walk, at, (end) =>
              end === at && count >= least ? NOWHERE : from(count + 1)(walk, end, next),
            )
      if (count < least) return again()
      const [first, second] = isLazy ? [next, again] : [again, next]
      const found = first(at)
      return found === NOWHERE ? second(at) : found
    }
  return from(0)
}

const inTurn = (parts: readonly Part[]): Part =>
  parts.reduceRight<Part>(
    (rest, part) => (walk, at, next) => part(walk, at, (end) => rest(walk, end, next)),
    (_walk, at, next) => next(at),
  )

function oneOf(ways: readonly Part[]): Part {
  if (ways.length === 1 && ways[0] !== undefined) return ways[0]
  return (walk, at, next) => {
    for (const way of ways) {
      walk.step()
      const found = way(walk, at, next)
      if (found !== NOWHERE) return found
    }
    return NOWHERE
  }
}

const isPair = (text: string, at: number): boolean => (text.codePointAt(at) ?? 0) > 0xff_ff

/** Makes of a pattern what walks it. */
class Compiler {
  readonly #source: string
  readonly #flags: string
  #at = 0

  constructor(source: string, flags: string) {
    this.#source = source
    this.#flags = flags.replaceAll(/[gy]/g, '')
  }

  #next(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#source)
    if (match !== null) this.#at = pattern.lastIndex
    return match
  }

  #bounds(): Bounds | undefined {
    const match = this.#next(QUANTIFIER)
    if (match === null) return undefined
    const [text, least, comma, most] = match
    const isLazy = text.length > 1 && text.endsWith('?')
    if (least !== undefined) {
      const upTo = comma === undefined ? Number(least) : Number(most || Number.POSITIVE_INFINITY)
      return { least: Number(least), most: upTo, isLazy }
    }
    return {
      least: text.startsWith('+') ? 1 : 0,
      most: text.startsWith('?') ? 1 : Number.POSITIVE_INFINITY,
      isLazy,
    }
  }

  /** One character, read to the right, or to the left in a look behind. */
  #one(token: string, isBehind: boolean): One {
    const isUnicode = /[uv]/.test(this.#flags)
    const only = new RegExp(`^(?:${token})$`, this.#flags)
    const known = new Map<number, boolean>()
    return (text, at) => {
      const nearest = isBehind ? at - 1 : at
      if (nearest < 0 || nearest >= text.length) return NOWHERE
      const isWide = isUnicode && (isBehind ? at >= 2 && isPair(text, at - 2) : isPair(text, at))
      const width = isWide ? 2 : 1
      const end = isBehind ? at - width : at + width
      const first = Math.min(at, end)
      const character = isWide ? text.codePointAt(first) : text.charCodeAt(first)
      let takes = known.get(character ?? 0)
      if (takes === undefined)
        known.set(character ?? 0, (takes = only.test(text.slice(first, first + width))))
      return takes ? end : NOWHERE
    }
  }

  #assertion(token: string): Part {
    if (token === '^' && !this.#flags.includes('m'))
      return (walk, at, next) => {
        walk.step()
        return at === 0 ? next(at) : NOWHERE
      }
    const here = new RegExp(token, `${this.#flags}y`)
    return (walk, at, next) => {
      walk.step()
      here.lastIndex = at
      return here.test(walk.text) ? next(at) : NOWHERE
    }
  }

  #group(token: string, isBehind: boolean): Part {
    const isLook = /[=!]$/.test(token)
    const inside = this.ways(isLook ? token.startsWith('(?<') : isBehind)
    if (!isLook) return inside
    const isWanted = token.endsWith('=')
    return (walk, at, next) => {
      walk.step()
      return (inside(walk, at, (end) => end) !== NOWHERE) === isWanted ? next(at) : NOWHERE
    }
  }

  /** Up to the parenthesis that closes the group, or the end. */
  ways(isBehind = false): Part {
    const ways: Part[] = []
    let parts: Part[] = []
    const close = (): void => {
      ways.push(inTurn(isBehind ? parts.toReversed() : parts))
      parts = []
    }
    for (;;) {
      const token = this.#next(TOKEN)?.[0]
      if (token === undefined || token === ')') {
        close()
        return oneOf(ways)
      }
      if (/^\\[1-9k]/.test(token)) throw new Error(`${token} is not counted`)
      if (token === '|') close()
      else if (token.startsWith('(')) {
        const part = this.#group(token, isBehind)
        const bounds = this.#bounds()
        parts.push(bounds === undefined ? part : many(part, bounds))
      } else if (['^', '$', '\\b', '\\B'].includes(token)) parts.push(this.#assertion(token))
      else {
        const one = this.#one(token, isBehind)
        const bounds = this.#bounds()
        parts.push(bounds === undefined ? exactly(one) : manyOf(one, bounds))
      }
    }
  }
}

/** What a search of a text for all matches finds, and in how many steps. @throws {TooManySteps} */
export type Count = (
  text: string,
  most: number,
) => { readonly steps: number; readonly found: readonly Span[] }

export function stepCounter(source: string, flags: string): Count {
  const whole = new Compiler(source, flags).ways()
  const isSticky = flags.includes('y')
  return (text, most) => {
    const walk = new Walk(text, most)
    const found: Span[] = []
    for (let start = 0; start <= text.length;) {
      walk.step()
      const end = whole(walk, start, (at) => at)
      if (end !== NOWHERE) found.push([start, end])
      else if (isSticky) break
      const isWide = /[uv]/.test(flags) && isPair(text, start)
      start = end > start ? end : start + (isWide ? 2 : 1)
    }
    return { steps: walk.steps, found }
  }
}
