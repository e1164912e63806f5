/**
 * The only place that names an old shape of an event. The n-th function of a type turns data of
 * schema version n into version n + 1; an additive optional field needs none.
 */
type Upcaster = (data: unknown) => unknown

const upcasters: Readonly<Record<string, readonly Upcaster[]>> = {}

/** Version written today for an event type, from 1. */
export function currentSchemaVersion(type: string): number {
  return (upcasters[type]?.length ?? 0) + 1
}

/**
 * Data of an older version in today's shape.
 * @throws RangeError for a version this program does not know.
 */
export function upcast(type: string, schemaVersion: number, data: unknown): unknown {
  const current = currentSchemaVersion(type)
  if (schemaVersion === current) return data
  if (!Number.isSafeInteger(schemaVersion) || schemaVersion < 1 || schemaVersion > current)
    throw new RangeError(`schema version ${schemaVersion}, known up to ${current}`)
  const steps = upcasters[type]?.slice(schemaVersion - 1) ?? []
  return steps.reduce((older, step) => step(older), data)
}
