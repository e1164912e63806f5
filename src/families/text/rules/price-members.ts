import { isUsualWord, textPriceMembers } from '../../../domain/catalog/checks/price-members.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { TextWireRules } from './wire.ts'

/**
 * Members of a request that change what a call costs, or which model answers it. All of them are
 * passed on unchanged, so they are accepted only if a channel declares that its prices allow for
 * them.
 */
export interface PriceMember {
  /** The name under which a channel lists it in `passes`. */
  readonly name: string
  /** Place of the member in the request. */
  readonly path: string
}

/** Each tier has its own SKU; a channel lists the tiers. */
const SERVICE_TIER = 'service_tier'

/** The members that a channel may list under `passes`. */
export const passableMembers: readonly string[] = textPriceMembers.names.filter(
  (name) => name !== SERVICE_TIER,
)

const TIER_NAME = /^[a-z][a-z0-9-]{0,31}$/

/** The tiers of service that the settings of a channel offer. */
export function tiersIn(settings: unknown): readonly string[] {
  const tiers = isJsonObject(settings) ? settings['serviceTiers'] : undefined
  return Array.isArray(tiers) ? tiers.map(String) : []
}

/** The name of prices that apply where a prompt exceeds a model's limit, in SKUs and in rules. */
export const LONG = 'long'

/** The tier of long prompts of a model, if the settings of a channel have a limit for them. */
export function longTierIn(settings: unknown, model: string): readonly string[] {
  const limits = isJsonObject(settings) ? settings['longPromptTokens'] : undefined
  return isJsonObject(limits) && Object.hasOwn(limits, model) ? [LONG] : []
}

/** Whether a channel may offer a tier of this name: it becomes part of SKUs. */
export function isTierName(name: string): boolean {
  return TIER_NAME.test(name) && !isUsualWord(name)
}

/**
 * The members of a request that change its price or model in a way that its usage does not show, a tier
 * of service among them.
 */
export function priceMembersOf(
  { output: { holder, answers }, reports, tierMembers = [] }: TextWireRules,
  body: JsonObject,
): readonly PriceMember[] {
  const at = holder === undefined ? '' : `${holder}.`
  // The hold already multiplies by the wire's own count of answers.
  const counted = answers === undefined ? undefined : `${at}${answers}`
  const inside = holder === undefined ? undefined : body[holder]
  const members = [
    ...membersIn(body, '', counted),
    ...(isJsonObject(inside) ? membersIn(inside, at, counted) : []),
  ]
  const charged =
    reports === undefined ? members : members.filter(({ name }) => !reports.includes(name))
  return tierMembers.length === 0
    ? charged
    : charged.map((one) => (tierMembers.includes(one.name) ? { ...one, name: SERVICE_TIER } : one))
}

function membersIn(
  holder: JsonObject,
  at: string,
  counted: string | undefined,
): readonly PriceMember[] {
  const members: PriceMember[] = []
  for (const key in holder) {
    const name = textPriceMembers.named(key)
    if (name === undefined || textPriceMembers.isUsual(name, holder[key])) continue
    const path = `${at}${key}`
    if (path !== counted) members.push({ name, path })
  }
  return members
}

/** The service tier of a request; undefined for the default tier. `further` members ask for one too. */
export function serviceTierOf(
  body: JsonObject,
  further: readonly string[] = [],
): string | undefined {
  for (const key in body) {
    const value = body[key]
    if (typeof value !== 'string' || isUsualWord(value)) continue
    const name = textPriceMembers.named(key)
    if (name !== undefined && (name === SERVICE_TIER || further.includes(name)))
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
