import { refuse } from '../../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import {
  checkNumber,
  flag,
  given,
  optionalList,
  optionalObject,
} from '../../../api/kit/member-checks.ts'
import { camelMembers } from './schemas.ts'

/** The flat members that callers may write, and where they belong. */
const flatMembers: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  maxTokens: 'maxOutputTokens',
  topP: 'topP',
  stop: 'stopSequences',
}
export const flatNames: readonly string[] = Object.keys(flatMembers)

const anyLevel = /^[A-Za-z_]{1,32}$/

function thinkingConfig(value: JsonObject): JsonObject {
  const at = 'generationConfig.thinkingConfig'
  const config = camelMembers(value, at)
  flag(config, 'includeThoughts', `${at}.includeThoughts`)
  const level = given(config, 'thinkingLevel')
  if (level !== undefined && (typeof level !== 'string' || !anyLevel.test(level)))
    refuse(`${at}.thinkingLevel`, `\`${at}.thinkingLevel\` must be a level such as "high"`)
  const budget = { min: -1, max: Number.MAX_SAFE_INTEGER, integer: true }
  checkNumber(config, 'thinkingBudget', budget, `${at}.thinkingBudget`)
  return config
}

function stopSequences(value: unknown, path: string): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.map((stop) =>
    typeof stop === 'string' ? stop : refuse(path, `\`${path}\` must be text or an array of texts`),
  )
}

function checkMembers(config: JsonObject): void {
  const at = (name: string): string => `generationConfig.${name}`
  const whole = { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true }
  checkNumber(config, 'temperature', { min: 0, max: 2 }, at('temperature'))
  checkNumber(config, 'topP', { min: 0, max: 1 }, at('topP'))
  checkNumber(config, 'maxOutputTokens', whole, at('maxOutputTokens'))
  checkNumber(config, 'candidateCount', whole, at('candidateCount'))
  const stops = optionalList(config, 'stopSequences', at('stopSequences'))
  if (stops !== undefined) stopSequences(stops, at('stopSequences'))
}

/** The flat members the caller wrote, checked under the names they wrote them by. */
function foldedMembers(body: JsonObject): JsonObject {
  checkNumber(body, 'temperature', { min: 0, max: 2 })
  checkNumber(body, 'topP', { min: 0, max: 1 }, 'top_p')
  checkNumber(
    body,
    'maxTokens',
    { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true },
    'max_tokens',
  )
  const folded = Object.entries(flatMembers).flatMap(([flat, name]) => {
    const value = given(body, flat)
    if (value === undefined) return []
    return [[name, flat === 'stop' ? stopSequences(value, 'stop') : value] as const]
  })
  return Object.fromEntries(folded)
}

/**
 * `generationConfig` with the flat members folded in; what it says itself wins.
 * Undefined when there is neither. @throws DomainError `invalid_request`
 */
export function generationConfig(body: JsonObject): JsonObject | undefined {
  const folded = foldedMembers(body)
  const own = optionalObject(body, 'generationConfig')
  if (own === undefined) return Object.keys(folded).length > 0 ? folded : undefined
  const config = camelMembers(own, 'generationConfig')
  checkMembers(config)
  const thinking = optionalObject(config, 'thinkingConfig', 'generationConfig.thinkingConfig')
  return {
    ...folded,
    ...config,
    ...(thinking ? { thinkingConfig: thinkingConfig(thinking) } : {}),
  }
}
