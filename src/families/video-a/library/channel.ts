import { Type } from 'typebox'
import { checkBaseUrl } from '../../../app/channels/base-url.ts'
import { readSecret, SecretSchema } from '../../../app/channels/secret-source.ts'
import { channelSettings } from '../../../app/channels/settings.ts'

/** The asset library of an account, as an operator writes it down. */
const LibrarySchema = Type.Object(
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

export const libraryChannel = channelSettings(
  { library: Type.Optional(LibrarySchema) },
  ({ library }, { where, faults, secretOf }) => {
    if (library === undefined) return {}
    const at = `${where}.library`
    const { access_key_id: id, secret_access_key: secret, project_name: projectName } = library
    checkBaseUrl(library.base_url, `${at}.base_url`, faults)
    const accessKeyId = readSecret(id, secretOf, `${at}.access_key_id`, faults)
    const secretAccessKey = readSecret(secret, secretOf, `${at}.secret_access_key`, faults)
    if (accessKeyId === undefined || secretAccessKey === undefined) return {}
    return {
      library: {
        baseUrl: library.base_url,
        signingRegion: library.signing_region,
        accessKeyId,
        secretAccessKey,
        verifiesPersons: library.verifies_persons ?? false,
        ...(projectName === undefined ? {} : { projectName }),
      },
    }
  },
)
