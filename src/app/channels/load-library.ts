import { type Static, Type } from 'typebox'
import type { Catalog } from '../../domain/families/catalog.ts'
import type { AssetLibrary } from '../ports.ts'
import { checkBaseUrl } from './base-url.ts'
import { readSecret, type SecretResolver, SecretSchema } from './secret-source.ts'

/** The asset library of an account, as an operator writes it down. */
export const LibrarySchema = Type.Object(
  {
    base_url: Type.String({ minLength: 1 }),
    signing_region: Type.String({ pattern: '^[a-z0-9-]{1,64}$' }),
    access_key_id: SecretSchema,
    secret_access_key: SecretSchema,
    verifies_persons: Type.Optional(Type.Boolean()),
    project_name: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  },
  { additionalProperties: false },
)
export type LibraryEntry = Static<typeof LibrarySchema>

/** The library of a channel of this family; undefined where it has a fault. */
export function readLibrary(
  catalog: Catalog,
  entry: LibraryEntry,
  family: string,
  secretOf: SecretResolver,
  where: string,
  faults: string[],
): AssetLibrary | undefined {
  if (catalog.taskFamilies.get(family)?.takesAssets !== true)
    faults.push(`${where}: only channels of tasks that can use assets have one`)
  checkBaseUrl(entry.base_url, `${where}.base_url`, faults)
  const { access_key_id: id, secret_access_key: secret } = entry
  const accessKeyId = readSecret(id, secretOf, `${where}.access_key_id`, faults)
  const secretAccessKey = readSecret(secret, secretOf, `${where}.secret_access_key`, faults)
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  return {
    baseUrl: entry.base_url,
    signingRegion: entry.signing_region,
    accessKeyId,
    secretAccessKey,
    verifiesPersons: entry.verifies_persons ?? false,
    ...(entry.project_name === undefined ? {} : { projectName: entry.project_name }),
  }
}
