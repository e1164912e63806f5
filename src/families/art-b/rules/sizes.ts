import { refuse, text } from '../../../domain/families/checks/fields.ts'
import { parsePixels } from '../../../domain/families/checks/pixels.ts'
import type { ArtBModel } from './models.ts'

const LONGEST_RATIO = 16

/** A tier of the model or pixels it makes, as upstream takes them. @throws RequestError */
export function acceptSize(value: unknown, model: ArtBModel): string {
  const size = text(value, 'size', 32)
  if (model.tiers.includes(size)) return size
  const sides = parsePixels(size)
  if (sides === undefined)
    return refuse('size', `\`size\` must be <width>x<height> or one of ${model.tiers.join(', ')}`)
  const { width, height } = sides
  const pixels = width * height
  const { fewestPixels, mostPixels } = model
  if (Math.max(width, height) > LONGEST_RATIO * Math.min(width, height))
    return refuse('size', `\`size\` must not be longer than ${LONGEST_RATIO}:1`)
  if (pixels < fewestPixels || pixels > mostPixels)
    return refuse(
      'size',
      `\`size\` must have from ${fewestPixels} to ${mostPixels} pixels with ${model.name}, not ${pixels}`,
    )
  return size
}
