import { type Static, Type } from 'typebox'

/** Reference in a channel file to the place of a secret; the file itself has none. */
export const SecretSchema = Type.Union([
  Type.Object({ env: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
  Type.Object({ file: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
])
/** The name of an environment variable, or a file. */
type SecretSource = Static<typeof SecretSchema>

/** Reads a secret; undefined when it does not exist. */
export type SecretResolver = (source: SecretSource) => string | undefined

/** The secret without surrounding space; if it is missing, undefined and a fault. */
export function readSecret(
  source: SecretSource,
  secretOf: SecretResolver,
  where: string,
  faults: string[],
): string | undefined {
  const secret = secretOf(source)?.trim()
  if (secret !== undefined && secret !== '') return secret
  const place = 'env' in source ? `environment variable ${source.env}` : `file ${source.file}`
  faults.push(`${where} (${place}) is not set or empty`)
  return undefined
}
