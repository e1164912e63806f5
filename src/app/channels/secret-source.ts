import { type Static, Type } from 'typebox'

/** Where a channel file says that secrets are kept: it never holds one itself. */
export const SecretSchema = Type.Union([
  Type.Object({ env: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
  Type.Object({ file: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
])
/** The name of an environment variable, or a file. */
export type SecretSource = Static<typeof SecretSchema>

/** Fetches a secret, or undefined when it is not there. */
export type SecretResolver = (source: SecretSource) => string | undefined

/** The secret without the space around it; undefined, and a fault that says where it should be, without one. */
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
