/**
 * Number of cases that a property test makes: the test's default, which the gate can afford, or the
 * value of the environment variable `PROPERTY_RUNS`. @throws if that is not a positive whole number
 */
export function propertyRuns(defaultRuns: number): number {
  const given = process.env['PROPERTY_RUNS']
  if (given === undefined || given === '') return defaultRuns
  if (!/^[1-9]\d*$/.test(given)) throw new Error(`PROPERTY_RUNS is no positive number: ${given}`)
  return Number(given)
}
