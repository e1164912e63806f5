/**
 * How much a test does that explores at random or at length: one short round in `npm test`, more in `npm run
 * test:long`.
 */

const isLong = process.env['TESTS_LONG'] === '1'

export function atLength<T>(short: T, long: T): T {
  return isLong ? long : short
}
