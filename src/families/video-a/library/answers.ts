import type { Listed, SeenAsset, SeenGroup } from '../../../app/asset-ports.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import {
  codeOf,
  isGiven,
  losslessCount,
  objectOf,
  textOf,
  upstreamIdOf,
} from '../../kit/http/fields.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import { hiding } from './errors.ts'

/** From the wire of asset libraries to what the use cases understand. */

const MAX_URL_LENGTH = 4_096
/** What callers are told of an asset that failed for no given reason. */
const NO_REASON = 'ProcessingFailed'

const statuses: ReadonlyMap<unknown, SeenAsset['status']> = new Map([
  ['Processing', 'processing'],
  ['Active', 'active'],
  ['Failed', 'failed'],
])

/** What an answer says: the inside of its envelope, or itself where it comes without one. */
export function resultOf(body: unknown): JsonObject | undefined {
  if (!isJsonObject(body)) return undefined
  const { Result: result } = body
  return isJsonObject(result) ? result : body
}

/** An asset, or undefined when it is none. A word for its status that nobody knows is no failure. */
export function seenAsset(value: unknown, scrub: Scrubber): SeenAsset | undefined {
  const item = objectOf(value)
  const nativeId = upstreamIdOf(item['Id'])
  if (nativeId === undefined) return undefined
  const status = statuses.get(item['Status']) ?? 'unknown'
  const ids = [nativeId, upstreamIdOf(item['GroupId']) ?? '']
  return {
    nativeId,
    name: textOf(item['Name']),
    status,
    error: status === 'failed' ? faultOf(item['Error'], hiding(scrub, ids)) : undefined,
    url: linkOf(item['URL']),
  }
}

/** A group, or undefined when it is none. */
export function seenGroup(value: unknown): SeenGroup | undefined {
  const item = objectOf(value)
  const nativeId = upstreamIdOf(item['Id'])
  return nativeId === undefined ? undefined : { nativeId, name: textOf(item['Name']) }
}

/**
 * The items of a list that can be read, and of those the ones of that name where one is asked for:
 * upstream also finds what merely resembles it. Undefined where it is no list.
 */
export function listOf<Item extends SeenGroup>(
  result: JsonObject,
  read: (value: unknown) => Item | undefined,
  name: string | undefined,
): Listed<Item> | undefined {
  const total = losslessCount(result['TotalCount'])
  const items = itemsOf(result, total)
  if (items === undefined) return undefined
  const seen = items.flatMap((item) => read(item) ?? [])
  return { items: name === undefined ? seen : seen.filter((item) => item.name === name), total }
}

/** An empty list may be written as null, and left out where there are none. */
function itemsOf(result: JsonObject, total: number | undefined): readonly unknown[] | undefined {
  const { Items: items } = result
  if (Array.isArray(items)) return items
  return items === null || (!isGiven(items) && total === 0) ? [] : undefined
}

/** A web link, for whoever asks now; undefined for anything else. */
export function linkOf(value: unknown): string | undefined {
  const link = textOf(value)
  return link !== undefined && link.length <= MAX_URL_LENGTH && /^https?:\/\//i.test(link)
    ? link
    : undefined
}

function faultOf(value: unknown, scrub: Scrubber): SeenAsset['error'] {
  const said = objectOf(value)
  return { code: codeOf(said['Code']) ?? NO_REASON, message: scrub(textOf(said['Message']) ?? '') }
}
