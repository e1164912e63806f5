import * as fc from 'fast-check'
import t from 'tap'
import { apportion, toMinor } from '../../src/kernel/apportion.ts'
import { propertyRuns } from '../helpers/property-runs.ts'

const CENT_PICO = 10n ** 10n

/** Half of these are whole half cents: where remainders tie. */
const amounts = fc.oneof(
  fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }),
  fc.bigInt({ min: -2_000n, max: 2_000n }).map((halves) => (halves * CENT_PICO) / 2n),
)

function movementsOf(amountsPico: readonly bigint[]) {
  return amountsPico.map((amountPico, n) => ({ key: `k${n}`, amountPico }))
}

/** Whether an amount is shown within one cent, and as it is where it is whole cents. */
function isNear(shown: bigint, amountPico: bigint): boolean {
  const offPico = shown * CENT_PICO - amountPico
  return amountPico % CENT_PICO === 0n
    ? offPico === 0n
    : offPico < CENT_PICO && -offPico < CENT_PICO
}

t.test('amounts as shown add up, each within a cent, and whole cents as they are', (t) => {
  fc.assert(
    fc.property(amounts, fc.array(amounts, { maxLength: 12 }), (openingPico, given) => {
      const shown = apportion(openingPico, movementsOf(given), CENT_PICO)
      const sumPico = given.reduce((total, each) => total + each, 0n)
      return (
        shown.opening === toMinor(openingPico, CENT_PICO) &&
        shown.closing === toMinor(openingPico + sumPico, CENT_PICO) &&
        shown.movements.reduce((total, each) => total + each, shown.opening) === shown.closing &&
        shown.movements.every((each, n) => isNear(each, given[n] ?? 0n))
      )
    }),
    { numRuns: propertyRuns(1_000) },
  )
  t.end()
})

t.test('half a cent is rounded up, of either sign', (t) => {
  const half = CENT_PICO / 2n
  t.same(
    [half, half - 1n, -half, -half - 1n].map((pico) => toMinor(pico, CENT_PICO)),
    [1n, 0n, 0n, -1n],
  )
  t.same(apportion(half, movementsOf([CENT_PICO]), CENT_PICO), {
    opening: 1n,
    closing: 2n,
    movements: [1n],
  })
  t.end()
})

t.test('missing cents go to the largest remainders, ties by key, whatever the order', (t) => {
  const third = CENT_PICO / 3n
  const movements = ['c', 'a', 'b'].map((key) => ({ key, amountPico: third }))
  t.same(apportion(0n, movements, CENT_PICO).movements, [0n, 1n, 0n])
  t.same(apportion(0n, movements.toReversed(), CENT_PICO).movements, [0n, 1n, 0n])
  const larger = [...movements, { key: 'z', amountPico: third + 1n }]
  t.same(apportion(0n, larger, CENT_PICO).movements, [0n, 0n, 0n, 1n])
  t.end()
})
