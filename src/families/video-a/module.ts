import { Type } from 'typebox'
import { checkBaseUrl } from '../../app/channels/base-url.ts'
import { readSecret, SecretSchema } from '../../app/channels/secret-source.ts'
import { channelSettings } from '../../app/channels/settings.ts'
import { knownModel } from '../../domain/catalog/checks/known-model.ts'
import type { TaskFamilyRules } from '../../domain/catalog/task-rules.ts'
import { createTaskProvider } from '../kit/task/client.ts'
import type { FamilyModule } from '../module.ts'
import { createAssetProvider } from './library/client.ts'
import { library, librarySurface, realPersonSurface } from './library/routes.ts'
import { resolveVideoAModel, videoAModels } from './rules/models.ts'
import { isSettleableVideoA, quoteVideoA, settleVideoA, videoAPrices } from './rules/pricing.ts'
import { EXPIRES_AFTER_S } from './rules/body.ts'
import { simpleVideoA } from './rules/translate-order.ts'
import { provA, provASurface } from './surface/routes.ts'
import { videoAWire } from './upstream/wire.ts'

const HOUR_S = 3_600

const known = knownModel(resolveVideoAModel)

/** The `/provA` video family. */
const videoARules: TaskFamilyRules = {
  family: 'video-a',
  idKind: 'video',
  defaultExpiryS: 48 * HOUR_S,
  longestExpiryS: 72 * HOUR_S,
  shortestExpiryS: EXPIRES_AFTER_S.min,
  models: videoAModels,
  resolve: resolveVideoAModel,
  quote: (model, facts, book) => quoteVideoA(known(model), facts, book),
  settle: ({ model, usage, ...success }) =>
    isSettleableVideoA(usage)
      ? settleVideoA({ model: known(model), usage, ...success })
      : undefined,
  prices: (model) => videoAPrices(known(model)),
  simpleVideo: simpleVideoA,
  takesAssets: true,
}

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

const libraryChannel = channelSettings(
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

const SIGNING_REGIONS = { domestic: 'cn-beijing', overseas: 'ap-southeast-1' } as const

/** The videos of `/provA`, and the library of assets they may use. */
export const videoA: FamilyModule = {
  rules: { name: 'video-a', tasks: videoARules },
  channel: libraryChannel,
  // One account a region. It knows the versioned names.
  sandbox: (['domestic', 'overseas'] as const).map((region) => ({
    id: `sandbox-video-a-${region}`,
    family: 'video-a',
    region,
    path: '/api/v3',
    library: { path: '/open', signingRegion: SIGNING_REGIONS[region], verifiesPersons: true },
    models: Object.fromEntries(
      videoAModels
        .filter((model) => model.region === region)
        .map(({ name, aliases }) => [name, aliases[0] ?? name]),
    ),
  })),
  mounts: [provA, library],
  open: ({ upstreamClock }) => {
    const tasks = createTaskProvider(videoAWire)
    const assets = createAssetProvider(upstreamClock)
    return {
      tasks,
      library: assets,
      surfaces: [provASurface, librarySurface, realPersonSurface],
      close: async () => void (await Promise.all([tasks.close(), assets.close()])),
    }
  },
}
