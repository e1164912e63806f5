import { type Static, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { parse } from 'yaml'
import type { AnyCallFamilyRules, Catalog } from '../../domain/catalog/catalog.ts'
import { WRONG_FORM } from '../../kernel/body.ts'
import { membersGiven } from '../../kernel/json.ts'
import type { Channel } from '../ports/provider.ts'
import { checkBaseUrl } from './base-url.ts'
import { readSecret, type SecretResolver, SecretSchema } from './secret-source.ts'
import type { ChannelSettings, EntryPlace } from './settings.ts'

/** The channel file: upstream accounts as an operator configures them. */

const MAX_CHANNELS = 200
/** The timeout of a creation, unless the channel sets one. */
export const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_MAX_CONCURRENT = 64
/** For a whole unstreamed answer; reasoning models take minutes. */
const DEFAULT_CALL_TIMEOUT_MS = 600_000
/** A call holds its connection until it is answered, or while it streams. */
const DEFAULT_MAX_CONCURRENT_CALLS = 2_048
/** Members that every entry may have. */
const common = {
  id: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$' }),
  family: Type.String(),
  region: Type.Optional(Type.Union([Type.Literal('domestic'), Type.Literal('overseas')])),
  base_url: Type.String({ minLength: 1 }),
  credential: Type.Optional(SecretSchema),
  models: Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 200 })),
  weight: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000 })),
  timeout_ms: Type.Optional(Type.Integer({ minimum: 100, maximum: 600_000 })),
  max_concurrent: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  max_queries_per_second: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  redact_words: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 100 })),
}

const ChannelSchema = Type.Object(common)
type ChannelEntry = Static<typeof ChannelSchema>

/** Lists all faults of a channel file; never a credential. */
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

/** The families' settings for entries of the channel file. */
export interface ChannelFamilies {
  readonly catalog: Catalog
  /** Settings by family name; a family without special settings has no entry. */
  readonly settings: ReadonlyMap<string, ChannelSettings>
}

/** Reads a channel file. @throws ChannelFileError naming every fault. */
export function parseChannels(
  families: ChannelFamilies,
  yamlText: string,
  secretOf: SecretResolver,
): readonly Channel[] {
  const faults: string[] = []
  const seen = new Set<string>()
  const channels = readEntries(yamlText, faults).flatMap((entry, index) => {
    const where = `channels[${index}]`
    if (!isFamilyKnown(families.catalog, entry, where, faults)) return []
    if (!isOf(ChannelSchema, entry, where, faults)) return []
    if (seen.has(entry.id)) faults.push(`channel id ${entry.id} is used twice`)
    seen.add(entry.id)
    return readEntry(families, entry, { where, faults, secretOf })
  })
  if (faults.length > 0) throw new ChannelFileError(faults)
  return channels
}

/** Whether the family of an entry is one of this program, or is missing; if not, it adds one fault. */
function isFamilyKnown(
  { familyNames }: Catalog,
  entry: unknown,
  where: string,
  faults: string[],
): boolean {
  const family: unknown = Object(entry).family
  if (typeof family !== 'string' || familyNames.includes(family)) return true
  faults.push(`${where}.family ${JSON.stringify(family)} is none of ${familyNames.join(', ')}`)
  return false
}

/** Whether an entry matches a schema; if not, it adds the reasons to the faults. */
function isOf<Schema extends TSchema>(
  schema: Schema,
  entry: unknown,
  where: string,
  faults: string[],
): entry is Static<Schema> {
  if (Value.Check(schema, entry)) return true
  for (const error of Value.Errors(schema, entry))
    faults.push(`${where}${error.instancePath.replaceAll('/', '.')} ${wordsOf(error)}`)
  return false
}

function wordsOf({ keyword, message }: { readonly keyword: string; readonly message: string }) {
  return keyword === 'pattern' ? WRONG_FORM : message
}

/** The channel of an entry; undefined when it has a fault. */
function readEntry(
  families: ChannelFamilies,
  entry: ChannelEntry,
  { where, faults, secretOf }: Omit<EntryPlace, 'models'>,
): readonly Channel[] {
  const { catalog, settings } = families
  const before = faults.length
  const own = settings.get(entry.family)
  refuseOthers(families, entry, where, faults)
  checkEntry(catalog, entry, where, faults)
  requireMembers(families, entry, where, faults)
  const credential =
    entry.credential && readSecret(entry.credential, secretOf, `${where}.credential`, faults)
  const models = Object.keys(entry.models)
  const said =
    own !== undefined && isOf(Type.Object(own.members), entry, where, faults)
      ? own.read(entry, { models, where, faults, secretOf })
      : {}
  return faults.length > before
    ? []
    : [fillIn(catalog, { ...commonOf(entry, credential), ...said })]
}

/** Refuses an entry that lacks what is optional only for channels of other families. */
function requireMembers(
  { catalog, settings }: ChannelFamilies,
  { region, credential, ...entry }: ChannelEntry,
  where: string,
  faults: string[],
): void {
  const family: string = entry.family
  const { models = [] } = catalog.taskFamilies.get(family) ?? {}
  if (region === undefined && models.some((model) => model.region !== undefined))
    faults.push(
      `${where}.region is required for ${family}, whose models and assets belong to a region: domestic or overseas`,
    )
  if (credential !== undefined) return
  if (settings.get(family)?.mayLackCredential !== true)
    faults.push(
      `${where}.credential is required for ${family}, whose provider knows the account by it: { env: NAME } or { file: PATH }`,
    )
  else if ('credential_header' in entry)
    faults.push(`${where}.credential_header is for a credential, and the channel has none`)
}

/** A member that the family does not have is a typing error, or belongs to another family. */
function refuseOthers(
  { catalog, settings }: ChannelFamilies,
  entry: ChannelEntry,
  where: string,
  faults: string[],
): void {
  const own = settings.get(entry.family)?.members ?? {}
  for (const name of Object.keys(entry)) {
    if (Object.hasOwn(common, name) || Object.hasOwn(own, name)) continue
    const others = catalog.familyNames.filter((family) =>
      Object.hasOwn(settings.get(family)?.members ?? {}, name),
    )
    const whose =
      others.length === 0 ? 'no channel has' : `only channels of ${others.join(', ')} have`
    faults.push(`${where}.${name} is a setting that ${whose}`)
  }
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
    faults.push('the file must have a list `channels` with at least one entry')
    return []
  }
  if (list.length > MAX_CHANNELS) faults.push(`at most ${MAX_CHANNELS} channels`)
  return list.slice(0, MAX_CHANNELS)
}

function checkEntry(catalog: Catalog, entry: ChannelEntry, where: string, faults: string[]): void {
  checkBaseUrl(entry.base_url, `${where}.base_url`, faults)
  const names = Object.keys(entry.models)
  if (names.length === 0) faults.push(`${where}.models has no entry`)
  const calls = catalog.callFamilyOf(entry.family)
  if (calls !== undefined) return checkCallModels(catalog, calls, entry, where, faults)
  for (const name of names) {
    const model = catalog.taskFamilies.get(entry.family)?.resolve(name)
    if (model === undefined || model.name !== name)
      faults.push(`${where}.models.${name} is not an external model name`)
    else if (
      entry.region !== undefined &&
      model.region !== undefined &&
      model.region !== entry.region
    )
      faults.push(`${where}.models.${name} belongs to another region`)
  }
}

/** A channel may name any call models, except names that are already taken. */
function checkCallModels(
  catalog: Catalog,
  calls: AnyCallFamilyRules,
  entry: ChannelEntry,
  where: string,
  faults: string[],
): void {
  for (const name of Object.keys(entry.models)) {
    const owner = catalog.callFamilyOfModel(name)
    const isTaken =
      owner === undefined ? catalog.findTaskModel(name) !== undefined : owner !== calls
    if (!calls.isModelName(name) || isTaken)
      faults.push(`${where}.models.${name} cannot be the name of a ${calls.name} model`)
  }
}

function commonOf(entry: ChannelEntry, credential: string | undefined) {
  const { id, family, models } = entry
  return {
    id,
    family,
    baseUrl: entry.base_url,
    models,
    ...membersGiven({
      region: entry.region,
      credential,
      weight: entry.weight,
      priority: entry.priority,
      timeoutMs: entry.timeout_ms,
      maxConcurrent: entry.max_concurrent,
      redactWords: entry.redact_words,
      maxQueriesPerSecond: entry.max_queries_per_second,
    }),
  }
}

type Defaulted = 'weight' | 'priority' | 'timeoutMs' | 'maxConcurrent'

/** Number of images that each model makes per request, for channels that make images. */
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

/** Fills in a channel's defaults. */
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
