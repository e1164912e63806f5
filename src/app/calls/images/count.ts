import { DomainError } from '../../../kernel/errors.ts'
import type { Channel } from '../../ports.ts'

/** @throws DomainError `n_not_supported` where no channel makes so many images at once */
export function checkImageCount(model: string, count: number, serving: readonly Channel[]): void {
  const largest = Math.max(1, ...serving.map((one) => one.largestImageCounts?.[model] ?? 1))
  if (count > largest)
    throw new DomainError('n_not_supported', `${model} makes at most ${largest} images at once`, {
      param: 'n',
    })
}
