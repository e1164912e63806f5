import t from 'tap'
import { collectPatterns, type Pattern } from './support/patterns.ts'
import { type Pump, pumpsOf } from './support/pumps.ts'

/**
 * The time of every regular expression grows with the length of the text, not with its square: texts come
 * from callers and providers, and the search holds the event loop. Each pattern meets strings made from
 * its own parts.
 */

const MOST_GROWTH = 8

/** Two texts, the second four times as long. */
interface Lengths {
  readonly small: number
  readonly large: number
  /** A search of the small text that is faster is linear: a quadratic one needs far longer. */
  readonly fastMs: number
}

const LENGTHS: Lengths = { small: 16_384, large: 65_536, fastMs: 3 }
/** Enough to recognise the examples, at a sixtieth of their time. */
const SHORT_LENGTHS: Lengths = { small: 2_048, large: 8_192, fastMs: 0.5 }
const TRIES = 4
const JUDGEMENTS = 5

function textOf({ start, repeated, end }: Pump, length: number): string {
  const times = Math.max(0, Math.floor((length - start.length - end.length) / repeated.length))
  return start + repeated.repeat(times) + end
}

/** Milliseconds of a search for all matches: the least of so many tries. */
function searchMs(pattern: RegExp, text: string, tries: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let done = 0; done < tries; done += 1) {
    pattern.lastIndex = 0
    const begun = performance.now()
    if (pattern.sticky) pattern.exec(text)
    else text.replace(pattern, '')
    least = Math.min(least, performance.now() - begun)
  }
  return least
}

function isLinear(pattern: RegExp, pump: Pump, { small, large, fastMs }: Lengths): boolean {
  const isFast = (length: number): boolean => {
    const text = textOf(pump, length)
    return searchMs(pattern, text, 1) < fastMs || searchMs(pattern, text, TRIES) < fastMs
  }
  // A cost that doubles with each character would never end on the texts below.
  if (![20, 24, 28, 256].every(isFast)) return false
  if (isFast(small)) return true
  const smallMs = searchMs(pattern, textOf(pump, small), TRIES)
  return searchMs(pattern, textOf(pump, large), TRIES) <= MOST_GROWTH * smallMs
}

/** The first string on which a pattern is slow, as a text of a failure. */
function slowOn({ path, source, flags }: Pattern, lengths = LENGTHS): string | undefined {
  const global = flags.includes('y') || flags.includes('g') ? flags : `${flags}g`
  const pattern = new RegExp(source, global)
  const slow = pumpsOf(source, flags).find((pump) => !isLinear(pattern, pump, lengths))
  return slow && `${path}: /${source}/${flags} on ${JSON.stringify(slow)}`
}

t.test('finds quadratic and exponential patterns', async (t) => {
  const slow: readonly string[] = [
    String.raw`\/+$`,
    String.raw`\s*\((\d{4})\)\s*$`,
    String.raw`\b[a-z][a-z0-9+.-]*:\/\/`,
    String.raw`=[^/,\s]+\/\d+\/`,
    String.raw`^(?:a+)+$`,
    String.raw`\b(?:[a-z0-9-]+\.){2,}[a-z]{2,}`,
  ]
  // On a busy machine a single measurement can be wrong, in either way.
  const found = (source: string) =>
    Array.from({ length: JUDGEMENTS }, () =>
      slowOn({ path: 'x', source, flags: '' }, SHORT_LENGTHS),
    )
  for (const source of slow) t.ok(found(source).some(Boolean), source)
  for (const source of [String.raw`^\w+\s*$`, String.raw`(?<!\/)\/+$`, '^(?:ab)+$'])
    t.ok(found(source).includes(undefined), source)
})

t.test('every regular expression has linear cost', async (t) => {
  const { patterns, unreadable } = collectPatterns()
  t.ok(patterns.length > 200, `${patterns.length} patterns`)
  // The embedded event store takes the filters of this program's own subscriptions.
  t.same(unreadable, ['infra/embedded/eventstore/filter.ts'])
  const distinct = new Map(patterns.map((one) => [`/${one.source}/${one.flags}`, one]))
  const slow = [...distinct.values()].filter((one) => slowOn(one) !== undefined)
  t.same(
    slow.flatMap((one) => slowOn(one) ?? []),
    [],
  )
})
