import * as fc from 'fast-check'
import t from 'tap'
import { atLength } from '../../helpers/long-run.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { closeMonth, type ClosedMonth, type MonthPlan, plainMonth } from './support/closed-month.ts'
import { createMonthFolder, filesOf, type MonthFile, monthFiles } from './support/month-files.ts'
import { verifiesBySecond } from './support/second-verifier.ts'

/** The program and a verifier that was written from `docs/verify.md` alone give the same verdicts. */

const folder = createMonthFolder()
t.teardown(() => folder.remove())

/** Whether some files of a month verify, which both verifiers must answer the same. */
function verdict(
  files: Partial<Readonly<Record<MonthFile, string | Buffer>>>,
  vkey: string,
): boolean {
  const { why } = folder.verify(files, vkey)
  const bytes = Object.fromEntries(
    Object.entries(files).map(([name, content]) => [name, Buffer.from(content)]),
  )
  const second = verifiesBySecond(bytes, vkey)
  if (second !== (why === undefined))
    throw new Error(`the second verifier says ${second}, the program: ${why ?? 'verified'}`)
  return second
}

const amounts = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n })
const above = fc.bigInt({ min: 1n, max: 10n ** 18n })
const credits = fc.oneof(
  fc.record({ kind: fc.constantFrom('paid', 'promotional'), pico: above }),
  fc.record({ kind: fc.constantFrom('line', 'grant'), pico: amounts }),
  fc.record({ kind: fc.constant('expiry'), pico: above.map((pico) => -pico) }),
) as fc.Arbitrary<MonthPlan['credits'][number]>

const plans: fc.Arbitrary<MonthPlan> = fc
  .record({
    lines: fc.oneof(fc.nat(12), fc.nat(600)),
    credits: fc.array(credits, { maxLength: 6 }),
    late: fc.nat(5),
    skus: fc.integer({ min: 1, max: 9 }),
    sumRows: fc.constantFrom(1, 2, 5, 1_000),
    openingPico: amounts,
    n: fc.integer({ min: 1, max: 3 }),
    attempt: fc.integer({ min: 1, max: 3 }),
    proved: fc.nat(),
    status: fc.constantFrom('issued' as const, 'voided' as const),
  })
  .filter(({ lines, credits }) => lines + credits.length > 0)
  .map((plan) => ({
    ...plan,
    late: Math.min(plan.late, plan.lines),
    proved: 1 + (plan.proved % (plan.lines + plan.credits.length)),
  }))

t.test('random months verify by both', (t) => {
  const verifies = fc.property(plans, (plan) => {
    const month = closeMonth(plan)
    return verdict(filesOf(month), month.vkey)
  })
  fc.assert(verifies, { numRuns: propertyRuns(30) })
  t.end()
})

t.test('neither misses a flipped bit of any file', (t) => {
  const flips = fc.property(
    plans,
    fc.constantFrom(...monthFiles),
    fc.nat(),
    fc.nat(7),
    (plan, file, at, bit) => {
      const month = closeMonth(plan)
      const bytes = Buffer.from(month[file])
      const byte = at % bytes.length
      bytes[byte] = (bytes[byte] ?? 0) ^ (1 << bit)
      return !verdict({ ...filesOf(month), [file]: bytes }, month.vkey)
    },
  )
  fc.assert(flips, { numRuns: propertyRuns(120) })
  t.end()
})

t.test(
  'both give the same verdict on a file of which a part was cut out, doubled, moved or replaced',
  (t) => {
    const parts = fc.tuple(
      fc.nat(),
      fc.nat(40),
      fc.constantFrom('cut', 'double', 'move', 'replace'),
    )
    const spliced = fc.property(
      plans,
      fc.constantFrom(...monthFiles),
      parts,
      fc.oneof(fc.string(), fc.constantFrom('\n', '\r\n', ' ', '[', '{', '"', ',1', 'null')),
      (plan, file, [at, length, change], text) => {
        const month = closeMonth(plan)
        const whole = Buffer.from(month[file])
        const from = at % whole.length
        const part = whole.subarray(from, from + length)
        const [head, tail] = [whole.subarray(0, from), whole.subarray(from + length)]
        const pieces = {
          cut: [head, tail],
          double: [head, part, part, tail],
          move: [part, head, tail],
          replace: [head, Buffer.from(text), tail],
        }
        verdict({ ...filesOf(month), [file]: Buffer.concat(pieces[change]) }, month.vkey)
      },
    )
    fc.assert(spliced, { numRuns: propertyRuns(60) })
    t.end()
  },
)

t.test('neither verifies files of two months together', (t) => {
  const mixed = fc.property(plans, plans, fc.constantFrom(...monthFiles), (one, other, file) => {
    const [month, foreign] = [closeMonth(one), closeMonth(other)]
    if (month.postings === foreign.postings) return true
    return !verdict({ ...filesOf(month), [file]: foreign[file] }, month.vkey)
  })
  fc.assert(mixed, { numRuns: propertyRuns(30) })
  t.end()
})

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** Another value of the same form, of another form, or none. */
function changesOf(value: Json): readonly (Json | undefined)[] {
  if (typeof value === 'number') return [value + 1, value + 0.5, String(value), null, undefined]
  if (typeof value === 'string')
    return [`${value}1`, value.slice(1), value.toUpperCase(), null, 1, undefined]
  return ['x', 0, undefined]
}

/** A value with one of its parts changed, in every way. */
function* changed(value: Json): Generator<Json | undefined> {
  if (typeof value !== 'object' || value === null) return yield* changesOf(value)
  const isList = Array.isArray(value)
  const entries = Object.entries(value as Readonly<Record<string, Json>>)
  const put = (all: typeof entries): Json =>
    isList ? all.map(([, item]) => item) : Object.fromEntries(all)
  yield put([...entries, ['more', 1]])
  for (const [index, [name, item]] of entries.entries())
    for (const other of changed(item))
      yield put(
        other === undefined ? entries.toSpliced(index, 1) : entries.with(index, [name, other]),
      )
}

t.test('no member of a statement can be changed', (t) => {
  const month = closeMonth({ ...plainMonth, n: 1 })
  let count = 0
  for (const document of changed(JSON.parse(month.statement) as Json)) {
    const statement = JSON.stringify(document)
    if (statement === JSON.stringify(JSON.parse(month.statement))) continue
    count += 1
    if (verdict({ statement }, month.vkey)) t.fail(statement)
  }
  t.ok(count > 400, `${count} changes`)
  t.end()
})

/** The month whose leaves were changed before they were signed; the statement still shows the unchanged close. */
function* signedChanges(month: ClosedMonth): Generator<ClosedMonth> {
  for (const [index, leaf] of month.leaves.entries())
    for (const other of changed(JSON.parse(leaf) as Json))
      yield closeMonth({ ...plainMonth, proved: Math.max(1, index) }, (all) =>
        all.with(index, JSON.stringify(other)),
      )
}

t.test('both give the same verdict where the gateway signed anything else', (t) => {
  let [count, verified] = [0, 0]
  for (const month of signedChanges(closeMonth(plainMonth))) {
    const { statement, postings, proof } = month
    count += 1
    if (count % atLength(4, 1) !== 0) continue
    if (verdict({ statement, postings }, month.vkey)) verified += 1
    verdict({ proof }, month.vkey)
  }
  t.ok(count > 500, `${count} changes`)
  // Users, models and reasons are facts of the gateway: nothing in the files says another one.
  t.ok(verified > atLength(10, 40) && verified < count / 3, `${verified} of them verify`)
  t.end()
})
