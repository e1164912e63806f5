import type { JsonObject } from '../../../kernel/json.ts'
import { isPresent, refuse } from './fields.ts'

const LOCATORS = ['text', 'image_url', 'video_url', 'audio_url'] as const

/**
 * An item of `content` holds what its type says and nothing else: a picture in a text item would not
 * be sent. @throws RequestError naming the member
 */
export function refuseOtherLocators(item: JsonObject, type: unknown, param: string): void {
  const own = LOCATORS.find((name) => name === type)
  const other = LOCATORS.find((name) => name !== own && isPresent(item, name))
  if (own !== undefined && other !== undefined && isPresent(item, own))
    refuse(
      `${param}.${other}`,
      `\`${param}.${other}\` must be in an item of its own, whose \`type\` is ${other}`,
    )
}
