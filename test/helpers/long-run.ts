/** Whether this is `npm run test:long`. */
export const isLong = process.env['TESTS_LONG'] === '1'

/**
 * How much a test does that explores at random or at length: one short round in `npm test`, more in `npm run
 * test:long`.
 */
export function atLength<T>(short: T, long: T): T {
  return isLong ? long : short
}
