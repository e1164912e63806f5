import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { textOf } from '../../kit/http/fields.ts'
import { createMemberRewriter, type MemberRewriter } from '../../kit/text/rewrite.ts'
import { itemView, type Naming } from './convert.ts'

/** An item as its stream goes on to name it. */
interface Shown {
  readonly id: string
  readonly rewrite: MemberRewriter
}

/**
 * Puts our ids into the events of one stream that hold no response. Only events that name something
 * upstream keeps are changed; all others pass as they are.
 */
export function createEventRewriter(
  keptId: Naming['keptId'],
): (data: string, event: JsonObject) => string {
  /** By upstream's id of the item that has begun. */
  const items = new Map<string, Shown>()
  const begin = (item: JsonObject): JsonObject | undefined => {
    const upstreamId = textOf(item['id'])
    if (upstreamId === undefined) return undefined
    const id = keptId('item', upstreamId)
    items.set(upstreamId, { id, rewrite: createMemberRewriter('item_id', id) })
    return itemView(item, keptId)
  }
  return (data, event) => {
    const item = isJsonObject(event['item']) ? begin(event['item']) : undefined
    const about = items.get(textOf(event['item_id']) ?? '')
    const responseId = textOf(event['response_id'])
    if (item === undefined && responseId === undefined) return about?.rewrite(data, event) ?? data
    return JSON.stringify({
      ...event,
      ...(item === undefined ? {} : { item }),
      ...(about === undefined ? {} : { item_id: about.id }),
      ...(responseId === undefined ? {} : { response_id: keptId('response', responseId) }),
    })
  }
}
