import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { TextWireRules } from './wire.ts'

/**
 * Members of a request that change what a call costs, or which model answers it. All of them are passed
 * on as callers wrote them, so they are taken only where a channel says that its prices allow for it.
 */
export interface PriceMember {
  /** The name under which a channel lists it in `passes`. */
  readonly name: string
  /** Where the caller wrote it. */
  readonly path: string
}

/** Whether a value asks for the default, so that the member changes nothing. */
type IsUsual = (value: unknown) => boolean

const isNothing: IsUsual = (value) =>
  value === false ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isJsonObject(value) && Object.keys(value).length === 0)
const isOne: IsUsual = (value) => value === 1
const isInMemory: IsUsual = (value) => typeof value === 'string' && /^in[-_]memory$/i.test(value)
const isText: IsUsual = (value) =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && /^text$/i.test(one))
const USUAL_WORDS =
  /^(?:auto|default|standard|standard_only|normal|on_demand|(?:service_tier_)?unspecified|service_tier_standard)$/i
const isUsualWord: IsUsual = (value) => typeof value === 'string' && USUAL_WORDS.test(value)

function all(isUsual: IsUsual, names: string): Readonly<Record<string, IsUsual>> {
  return Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, isUsual]),
  )
}

/** Members of any wire: of official clients, vendors and intermediaries. */
const MEMBERS: Readonly<Record<string, IsUsual>> = {
  ...all(isUsualWord, 'service_tier speed mode tier'),
  ...all(isText, 'modalities response_modalities output_modalities'),
  // Longer than in memory, and written where a caller says so, a cache costs more.
  ...all(isInMemory, 'prompt_cache_retention'),
  ...all(isOne, 'n best_of candidate_count num_completions num_return_sequences'),
  ...all(
    isNothing,
    `audio voice speech_config image_config video_config translation_config prediction
    models provider providers route routing routing_config model_config model_selection_config
    model_list fallbacks fallback_models context_window_fallbacks content_policy_fallbacks preset
    plugins transforms extra_body extra_headers extra_query deployment deployment_id
    custom_llm_provider api_base base_url api_key inference_geo betas anthropic_beta container
    enable_search search_options search_parameters web_search deferred
    prompt_cache_options context_management access_programs`,
  ),
}

/** Each tier has its own SKU; a channel lists the tiers. */
const SERVICE_TIER = 'service_tier'

/** The members that a channel may list under `passes`. */
export const passableMembers: readonly string[] = Object.keys(MEMBERS).filter(
  (name) => name !== SERVICE_TIER,
)

const TIER_NAME = /^[a-z][a-z0-9-]{0,31}$/

/** Whether a channel may offer a tier of this name: it becomes part of SKUs. */
export function isTierName(name: string): boolean {
  return TIER_NAME.test(name) && !isUsualWord(name)
}

/** Spellings that an account reads as the same member: `serviceTier`, `service_tier`. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')
const nameOf = new Map(Object.keys(MEMBERS).map((name) => [plain(name), name]))
const LONGEST_NAME = 64

/** Names as callers write them, with the member that each is: most requests repeat the same few. */
const knownNames = new Map<string, string | undefined>()
const MAX_KNOWN_NAMES = 1_000

function memberNamed(written: string): string | undefined {
  if (written.length > LONGEST_NAME) return undefined
  const known = knownNames.get(written)
  if (known !== undefined || knownNames.has(written)) return known
  const name = nameOf.get(plain(written))
  if (knownNames.size < MAX_KNOWN_NAMES) knownNames.set(written, name)
  return name
}

/** The members of a request that change its price or model, a tier of service among them. */
export function priceMembersOf(
  { output: { holder, answers } }: TextWireRules,
  body: JsonObject,
): readonly PriceMember[] {
  const at = holder === undefined ? '' : `${holder}.`
  // The hold already multiplies by the wire's own count of answers.
  const counted = answers === undefined ? undefined : `${at}${answers}`
  const inside = holder === undefined ? undefined : body[holder]
  return [
    ...membersIn(body, '', counted),
    ...(isJsonObject(inside) ? membersIn(inside, at, counted) : []),
  ]
}

function membersIn(
  holder: JsonObject,
  at: string,
  counted: string | undefined,
): readonly PriceMember[] {
  const members: PriceMember[] = []
  for (const key in holder) {
    const name = memberNamed(key)
    const value = holder[key]
    if (name === undefined || value === null || value === undefined) continue
    const path = `${at}${key}`
    if (path !== counted && MEMBERS[name]?.(value) !== true) members.push({ name, path })
  }
  return members
}

/** The service tier of a request; undefined for the default tier. */
export function serviceTierOf(body: JsonObject): string | undefined {
  for (const key in body) {
    const value = body[key]
    if (memberNamed(key) === SERVICE_TIER && typeof value === 'string' && !isUsualWord(value))
      return value.toLowerCase()
  }
  return undefined
}

/** Whether a member is a tier of service, which is listed by its value. */
export function isServiceTier({ name }: PriceMember): boolean {
  return name === SERVICE_TIER
}

/** Whether two tiers are the same; an absent tier is the default one. */
export function isSameTier(asked: string | undefined, answered: string): boolean {
  if (isUsualWord(answered)) return asked === undefined || isUsualWord(asked)
  return asked?.toLowerCase() === answered.toLowerCase()
}
