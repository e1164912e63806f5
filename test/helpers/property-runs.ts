/**
 * Cases that a property test makes: what the test gives by default, which the gate can afford, or what
 * the environment variable `PROPERTY_RUNS` says. @throws where that is not a positive whole number
 */
export function propertyRuns(defaultRuns: number): number {
  const given = process.env['PROPERTY_RUNS']
  if (given === undefined || given === '') return defaultRuns
  if (!/^[1-9]\d*$/.test(given)) throw new Error(`PROPERTY_RUNS is no positive number: ${given}`)
  return Number(given)
}
