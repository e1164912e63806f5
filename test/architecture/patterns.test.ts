import t from 'tap'
import { collectPatterns, type Pattern } from './support/patterns.ts'
import { type Pump, pumpsOf } from './support/pumps.ts'
import { stepCounter, TooManySteps } from './support/steps.ts'

/**
 * The cost of every regular expression grows with the length of the text, not with its square: texts come
 * from callers and providers, and the search holds the event loop. Each pattern meets strings made from
 * its own parts. Steps are counted: they are the same on every machine.
 */

/** Characters of two texts, the second four times as long. */
const [SMALL, LARGE] = [256, 1_024]
/** A linear search of the large text takes four times the steps of the small one, a quadratic one sixteen times. */
const MOST_GROWTH = 8
/** So few for the small text are linear, unless what repeats itself has more than thirty characters. */
const FEW_STEPS = 4 * SMALL
/** More than a quadratic search of the small text takes: one that doubles with each character would never end. */
const MOST_STEPS = 4 * SMALL ** 2

function textOf({ start, repeated, end }: Pump, length: number): string {
  const times = Math.max(0, Math.floor((length - start.length - end.length) / repeated.length))
  return start + repeated.repeat(times) + end
}

/** The first string on which a pattern is slow, as a text of a failure; or where its steps were miscounted. */
function slowOn({ path, source, flags }: Pattern): string | undefined {
  const count = stepCounter(source, flags)
  const search = new RegExp(source, flags.includes('g') ? flags : `${flags}g`)
  const problemOf = (pump: Pump): string | undefined => {
    const text = textOf(pump, SMALL)
    try {
      const { steps, found } = count(text, MOST_STEPS)
      const matches = [...text.matchAll(search)].map((match) => [
        match.index,
        match.index + match[0].length,
      ])
      if (String(found) !== String(matches))
        return `counted as ${String(found)}, not ${String(matches)},`
      if (steps > FEW_STEPS) count(textOf(pump, LARGE), MOST_GROWTH * steps)
      return undefined
    } catch (error) {
      if (error instanceof TooManySteps) return 'slow'
      throw error
    }
  }
  for (const pump of pumpsOf(source, flags)) {
    const problem = problemOf(pump)
    if (problem) return `${path}: /${source}/${flags} is ${problem} on ${JSON.stringify(pump)}`
  }
  return undefined
}

t.test('finds quadratic and exponential patterns', async (t) => {
  const slow: readonly string[] = [
    String.raw`\/+$`,
    String.raw`\s*\((\d{4})\)\s*$`,
    String.raw`\b[a-z][a-z0-9+.-]*:\/\/`,
    String.raw`=[^/,\s]+\/\d+\/`,
    String.raw`^(?:a+)+$`,
    String.raw`\b(?:[a-z0-9-]+\.){2,}[a-z]{2,}`,
    String.raw`(?=[^]*)b`,
  ]
  const found = (source: string) => slowOn({ path: 'x', source, flags: '' })
  for (const source of slow) t.match(found(source), / is slow on /, source)
  for (const source of [String.raw`^\w+\s*$`, String.raw`(?<!\/)\/+$`, '^(?:ab)+$'])
    t.equal(found(source), undefined)
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
