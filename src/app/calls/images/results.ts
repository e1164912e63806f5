import { IMAGES, type ImageSeen, UNDELIVERED } from '../../../domain/families/image-rules.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { ImageAnswer, ImageItem } from '../../image-ports.ts'
import type { Channel } from '../../ports.ts'
import { type DeliverDeps, deliverPicture, lossOf, type Way } from './deliver.ts'

interface Delivered {
  readonly body: JsonObject
  readonly seen: ImageSeen
}

/**
 * The body a caller gets of an answer, and what is settled of it. With `settlesEach` a picture that
 * cannot be delivered is told as an error among the others, unless no other is there.
 *
 * @throws as `deliverPicture`
 */
export async function deliver(
  deps: DeliverDeps,
  way: Way,
  { createdS, items, shown, seen }: ImageAnswer,
  { settlesEach, nowS }: { readonly settlesEach: boolean; readonly nowS: number },
): Promise<Delivered> {
  const data: JsonObject[] = []
  const losses: unknown[] = []
  const one = async (item: ImageItem): Promise<JsonObject> => {
    if ('error' in item) return { error: item.error }
    try {
      return await deliverPicture(deps, way, item)
    } catch (error) {
      if (!settlesEach) throw error
      const told = lossOf(error)
      losses.push(error)
      return { error: told }
    }
  }
  // One after another: each may be many megabytes.
  for (const item of items) data.push(await one(item))
  if (losses.length > 0 && data.every((item) => 'error' in item)) throw losses[0]
  return {
    body: { created: createdS ?? nowS, data, ...shown },
    seen: withoutLost(seen, losses.length),
  }
}

/** What was seen, less the pictures that did not reach their caller. */
export function withoutLost<Seen extends ImageSeen>(seen: Seen, lost: number): Seen {
  if (lost === 0) return seen
  const images = Math.max(0, (seen.usage[IMAGES] ?? 0) - lost)
  return { ...seen, usage: { ...seen.usage, [IMAGES]: images, [UNDELIVERED]: lost } }
}

/** @throws DomainError `n_not_supported` where no channel makes so many images at once */
export function checkImageCount(model: string, count: number, serving: readonly Channel[]): void {
  const largest = Math.max(1, ...serving.map((one) => one.largestImageCounts?.[model] ?? 1))
  if (count > largest)
    throw new DomainError('n_not_supported', `${model} makes at most ${largest} images at once`, {
      param: 'n',
    })
}
