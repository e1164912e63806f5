import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { parse } from 'yaml'
import type { AnyCallFamily, Catalog } from '../../domain/families/catalog.ts'
import { isTierName, passableMembers } from '../../domain/families/text/price-members.ts'
import type { AssetLibrary, Channel, TextChannelLimits } from '../ports.ts'
import { checkBaseUrl } from './base-url.ts'
import { LibrarySchema, readLibrary } from './load-library.ts'
import { readSecret, type SecretResolver, SecretSchema } from './secret-source.ts'

/** The channel file: upstream accounts as an operator writes them down. */

const MAX_CHANNELS = 200
/** A creation may wait this long for its answer unless the channel says otherwise. */
export const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_MAX_CONCURRENT = 64
/** A whole unstreamed answer; reasoning models think for minutes. */
const DEFAULT_CALL_TIMEOUT_MS = 600_000
/** A call holds its connection until it is answered, or for as long as it streams. */
const DEFAULT_MAX_CONCURRENT_CALLS = 2_048
/** No model answers with more, whatever a channel file says. */
const MAX_LARGEST_OUTPUT_TOKENS = 10_000_000
/** No request can ask for more images. */
const MAX_IMAGE_COUNT = 15
const Milliseconds = Type.Integer({ minimum: 10, maximum: 3_600_000 })

const channelSchema = (catalog: Catalog) =>
  Type.Object(
    {
      id: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$' }),
      family: Type.Union(catalog.familyNames.map((family) => Type.Literal(family))),
      region: Type.Union([Type.Literal('domestic'), Type.Literal('overseas')]),
      base_url: Type.String({ minLength: 1 }),
      credential: SecretSchema,
      models: Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 200 })),
      weight: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
      priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000 })),
      timeout_ms: Type.Optional(Type.Integer({ minimum: 100, maximum: 600_000 })),
      max_concurrent: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      max_queries_per_second: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      redact_words: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 100 })),
      first_byte_timeout_ms: Type.Optional(Milliseconds),
      idle_timeout_ms: Type.Optional(Milliseconds),
      drain_timeout_ms: Type.Optional(Milliseconds),
      drain_max_bytes: Type.Optional(Type.Integer({ minimum: 0, maximum: 1 << 30 })),
      largest_output_tokens: Type.Optional(
        Type.Record(
          Type.String(),
          Type.Integer({ minimum: 1, maximum: MAX_LARGEST_OUTPUT_TOKENS }),
        ),
      ),
      largest_image_counts: Type.Optional(
        Type.Record(Type.String(), Type.Integer({ minimum: 1, maximum: MAX_IMAGE_COUNT })),
      ),
      audio_mode: Type.Optional(Type.Enum(['json', 'hex'])),
      credential_header: Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,64}$' })),
      vector_stores: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 1_000 }),
      ),
      passes: Type.Optional(Type.Array(Type.Enum([...passableMembers]))),
      service_tiers: Type.Optional(Type.Array(Type.String(), { maxItems: 16 })),
      library: Type.Optional(LibrarySchema),
    },
    { additionalProperties: false },
  )
type ChannelEntry = Static<ReturnType<typeof channelSchema>>

/** Every fault of a channel file at once; never a credential. */
export class ChannelFileError extends Error {
  override readonly name = 'ChannelFileError'
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(
      `the channel file has ${faults.length} fault(s):\n${faults.map((f) => `  - ${f}`).join('\n')}`,
    )
    this.faults = faults
  }
}

/** Reads a channel file. @throws ChannelFileError naming every fault. */
export function parseChannels(
  catalog: Catalog,
  yamlText: string,
  secretOf: SecretResolver,
): readonly Channel[] {
  const schema = channelSchema(catalog)
  const faults: string[] = []
  const entries = readEntries(yamlText, faults)
  const channels = entries.flatMap((entry, index) => {
    const where = `channels[${index}]`
    if (!Value.Check(schema, entry)) {
      for (const error of Value.Errors(schema, entry))
        faults.push(`${where}${error.instancePath.replaceAll('/', '.')} ${error.message}`)
      return []
    }
    const before = faults.length
    checkEntry(catalog, entry, where, faults)
    const credential = readSecret(entry.credential, secretOf, `${where}.credential`, faults)
    const library =
      entry.library &&
      readLibrary(catalog, entry.library, entry.family, secretOf, `${where}.library`, faults)
    return faults.length > before || credential === undefined
      ? []
      : [channelOf(catalog, entry, credential, library)]
  })
  const seen = new Set<string>()
  for (const entry of entries) {
    const id = Value.Check(schema, entry) ? entry.id : undefined
    if (id === undefined) continue
    if (seen.has(id)) faults.push(`channel id ${id} is used twice`)
    seen.add(id)
  }
  if (faults.length > 0) throw new ChannelFileError(faults)
  return channels
}

function readEntries(yamlText: string, faults: string[]): readonly unknown[] {
  let document: unknown
  try {
    document = parse(yamlText, { maxAliasCount: 100 })
  } catch (error) {
    faults.push(`not YAML: ${error instanceof Error ? error.message.split('\n')[0] : 'unreadable'}`)
    return []
  }
  const list =
    typeof document === 'object' && document !== null && 'channels' in document
      ? document.channels
      : undefined
  if (!Array.isArray(list) || list.length === 0) {
    faults.push('it must have a list `channels` with at least one entry')
    return []
  }
  if (list.length > MAX_CHANNELS) faults.push(`at most ${MAX_CHANNELS} channels`)
  return list.slice(0, MAX_CHANNELS)
}

function checkEntry(catalog: Catalog, entry: ChannelEntry, where: string, faults: string[]): void {
  checkBaseUrl(entry.base_url, `${where}.base_url`, faults)
  const names = Object.keys(entry.models)
  if (names.length === 0) faults.push(`${where}.models names no model`)
  const calls = catalog.callFamilyOf(entry.family)
  if (entry.audio_mode !== undefined && calls?.answersAudio !== true)
    faults.push(`${where} has settings that only speech channels have`)
  if (calls !== undefined) return checkCallModels(catalog, calls, entry, where, faults)
  if (textLimitsOf(entry) !== undefined || entry.largest_output_tokens !== undefined)
    faults.push(`${where} has settings that only text channels have`)
  if (entry.largest_image_counts !== undefined)
    faults.push(`${where} has settings that only image channels have`)
  for (const name of names) {
    const model = catalog.taskFamilies.get(entry.family)?.resolve(name)
    if (model === undefined || model.name !== name)
      faults.push(`${where}.models.${name} is not an external model name`)
    else if (model.region !== undefined && model.region !== entry.region)
      faults.push(`${where}.models.${name} is of the other region`)
  }
}

/**
 * Models of calls are whatever a channel says; they only must not take a name that is spoken for,
 * and what a call without a limit may cost must be known.
 */
function checkCallModels(
  catalog: Catalog,
  calls: AnyCallFamily,
  entry: ChannelEntry,
  where: string,
  faults: string[],
): void {
  const largest = entry.largest_output_tokens ?? {}
  for (const name of Object.keys(entry.models)) {
    const owner = catalog.callFamilyOfModel(name)
    const isTaken =
      owner === undefined ? catalog.findTaskModel(name) !== undefined : owner !== calls
    if (!calls.isModelName(name) || isTaken)
      faults.push(`${where}.models.${name} cannot be the name of a ${calls.name} model`)
    if (calls.isBoundedByChannel && !Object.hasOwn(largest, name))
      faults.push(`${where}.largest_output_tokens has no ${name}: the most it can answer with`)
  }
  for (const tier of entry.service_tiers ?? [])
    if (!isTierName(tier))
      faults.push(`${where}.service_tiers: ${tier} cannot be the name of a tier`)
  const counted = entry.largest_image_counts ?? {}
  for (const name of Object.keys(counted))
    if (!Object.hasOwn(entry.models, name) || catalog.imageFamilyOf(name) === undefined)
      faults.push(`${where}.largest_image_counts.${name} is no image model of the channel`)
  for (const name of Object.keys(largest))
    if (!Object.hasOwn(entry.models, name))
      faults.push(`${where}.largest_output_tokens.${name} is none of the channel's models`)
}

function textLimitsOf(entry: ChannelEntry): TextChannelLimits | undefined {
  const limits: TextChannelLimits = {
    ...(entry.first_byte_timeout_ms === undefined
      ? {}
      : { firstByteTimeoutMs: entry.first_byte_timeout_ms }),
    ...(entry.idle_timeout_ms === undefined ? {} : { idleTimeoutMs: entry.idle_timeout_ms }),
    ...(entry.drain_timeout_ms === undefined ? {} : { drainTimeoutMs: entry.drain_timeout_ms }),
    ...(entry.drain_max_bytes === undefined ? {} : { drainMaxBytes: entry.drain_max_bytes }),
    ...(entry.credential_header === undefined ? {} : { credentialHeader: entry.credential_header }),
    ...(entry.vector_stores === undefined ? {} : { vectorStores: entry.vector_stores }),
    ...(entry.passes === undefined ? {} : { passes: entry.passes }),
    ...(entry.service_tiers === undefined ? {} : { serviceTiers: entry.service_tiers }),
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}

function channelOf(
  catalog: Catalog,
  entry: ChannelEntry,
  credential: string,
  library: AssetLibrary | undefined,
): Channel {
  const text = textLimitsOf(entry)
  return fillIn(catalog, {
    id: entry.id,
    family: entry.family,
    region: entry.region,
    baseUrl: entry.base_url,
    credential,
    models: entry.models,
    ...(entry.weight === undefined ? {} : { weight: entry.weight }),
    ...(entry.priority === undefined ? {} : { priority: entry.priority }),
    ...(entry.timeout_ms === undefined ? {} : { timeoutMs: entry.timeout_ms }),
    ...(entry.max_concurrent === undefined ? {} : { maxConcurrent: entry.max_concurrent }),
    ...(entry.largest_output_tokens === undefined
      ? {}
      : { largestOutputTokens: entry.largest_output_tokens }),
    ...(entry.largest_image_counts === undefined
      ? {}
      : { largestImageCounts: entry.largest_image_counts }),
    ...(entry.audio_mode === undefined ? {} : { audioMode: entry.audio_mode }),
    ...(text === undefined ? {} : { text }),
    ...(library === undefined ? {} : { library }),
    ...(entry.redact_words === undefined ? {} : { redactWords: entry.redact_words }),
    ...(entry.max_queries_per_second === undefined
      ? {}
      : { maxQueriesPerSecond: entry.max_queries_per_second }),
  })
}

type Defaulted = 'weight' | 'priority' | 'timeoutMs' | 'maxConcurrent'

/** How many images each model makes at once, of channels that make any. */
function imageCounts(
  catalog: Catalog,
  { models, largestImageCounts }: Pick<Channel, 'models' | 'largestImageCounts'>,
): Pick<Channel, 'largestImageCounts'> {
  const usual = Object.keys(models).flatMap((model) => {
    const count = catalog.imageFamilyOf(model)?.usualCount(model)
    return count === undefined ? [] : [[model, count] as const]
  })
  if (usual.length === 0) return {}
  return { largestImageCounts: { ...Object.fromEntries(usual), ...largestImageCounts } }
}

/** A channel with what was left out of it. */
export function fillIn(
  catalog: Catalog,
  given: Omit<Channel, Defaulted> & Partial<Pick<Channel, Defaulted>>,
): Channel {
  const isCall = catalog.callFamilyOf(given.family) !== undefined
  return {
    weight: 1,
    priority: 0,
    timeoutMs: isCall ? DEFAULT_CALL_TIMEOUT_MS : DEFAULT_TIMEOUT_MS,
    maxConcurrent: isCall ? DEFAULT_MAX_CONCURRENT_CALLS : DEFAULT_MAX_CONCURRENT,
    ...given,
    ...imageCounts(catalog, given),
  }
}
