import t from 'tap'
import { sources } from './sources.ts'

/** Times and zones that others wrote are read in one place each: `src/kernel/read-time.ts`, `read-zone.ts`. */

const READER = 'src/kernel/read-time.ts'
/** A date of a number: its argument names a unit, or is computed. */
const OF_NUMBER = /(?:ms|MS)\b|Ms\b|Ms\(|\bmsOf\(|\* 1_?000\b|^Math\.|^fromTimestamp\(|^0$/

/** The arguments of each `new Date(…)`, and what calls `Date` as a function. */
function datesIn(text: string): readonly string[] {
  return [...text.matchAll(/\bnew Date\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g)].map(
    ([, argument = '']) => argument.trim(),
  )
}

t.test('texts are parsed as times in one file', async (t) => {
  t.ok(sources.length > 400, `${sources.length} files`)
  let read = 0
  for (const { path, text } of sources) {
    if (path === READER) continue
    t.notMatch(text, /\bDate\.parse\b|[^\w.]Date\((?!\))(?<!new Date\()/, path)
    for (const argument of datesIn(text)) {
      read += 1
      if (argument !== '') t.match(argument, OF_NUMBER, `${path}: new Date(${argument})`)
    }
  }
  t.ok(read >= 15, `${read} dates`)
})

t.test('the finders of these tests find violations', async (t) => {
  for (const argument of ['text', '`${day}T00:00:00Z`', "'2026-01-01'", 'row.first', 'modified'])
    t.notMatch(argument, OF_NUMBER)
  t.same(datesIn('new Date(fromTimestamp(of(day)))  new Date()'), ['fromTimestamp(of(day))', ''])
})

t.test('names are parsed as time zones in one file', async (t) => {
  const named = sources
    .filter(({ text }) => text.includes('TimeZone.named('))
    .map(({ path }) => path)
  // Settings were read before they were stored.
  t.same(named.sort(), [
    'src/app/finance/statements/closing-account.ts',
    'src/app/spending/budgets/spent.ts',
    'src/kernel/read-zone.ts',
  ])
  const made = sources.filter(({ text }) =>
    /\bDateTimeFormat\(|toLocale(?:Date|Time)String\(/.test(text),
  )
  t.same(made.map(({ path }) => path).sort(), [
    'src/kernel/read-zone.ts',
    'src/kernel/time-zone.ts',
  ])
})
