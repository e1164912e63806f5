import type { JsonObject } from '../../../kernel/json.ts'

/** What callers see of a picture beside it: a layer says where it belongs. No link of upstream's is among it. */
const SHOWN = [
  'size',
  'output_format',
  'z_index',
  'bounding_box',
  'name',
  'description',
  'revised_prompt',
] as const

export function shownOf(item: JsonObject): JsonObject {
  return Object.fromEntries(
    SHOWN.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]] as const])),
  )
}
