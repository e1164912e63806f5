import { type Owed, owedAt, pricesOf } from '../bill.ts'
import type { UpstreamCall } from '../upstream-record.ts'
import type { ImageOrder } from './orders.ts'

/**
 * What images cost, from this table and upstream's own record alone: an oracle that shared the
 * product's arithmetic would share its faults. Prices are odd on purpose: nothing comes out round.
 */

type Table = Readonly<Record<string, string>>

const A_PICTURE_USD: Table = {
  'image-2-low-image': '0.0113',
  'image-2-medium-image': '0.0427',
  'image-2-high-image': '0.1673',
  'gen-2.5-flash-image-1k-image': '0.0391',
  'gen-3.1-flash-image-512-image': '0.0453',
  'gen-3.1-flash-image-1k-image': '0.0677',
}
const A_PICTURE_CNY: Table = { 'artB-5.0-lite-image': '0.2203', 'artB-5.0-pro-image': '0.4001' }
const A_MILLION_TOKENS_USD: Table = {
  'image-2.5-text-input': '5.003',
  'image-2.5-cached-text-input': '1.251',
  'image-2.5-image-input': '8.009',
  'image-2.5-cached-image-input': '2.003',
  'image-2.5-image-output': '30.011',
  'gen-2.5-flash-image-input-token': '0.507',
  'gen-3.1-flash-image-input-token': '0.613',
}

/** These prices as entries of a price book. */
export const imagePrices = [
  ...pricesOf(A_PICTURE_USD, 'USD', 'image', 1),
  ...pricesOf(A_PICTURE_CNY, 'CNY', 'image', 1),
  ...pricesOf(A_MILLION_TOKENS_USD, 'USD', 'token', 1_000_000),
]

const line = (sku: string, quantity: number): readonly Owed[] => owedAt(imagePrices, sku, quantity)

/** What is owed for pictures that reached their caller. */
export function owedForImages(
  { family, model, quality, size, way, switches }: ImageOrder,
  { pictures, usage, wire_usage: wire }: UpstreamCall,
): readonly Owed[] {
  const count = pictures?.count ?? 0
  switch (family) {
    case 'image':
      if (model === 'image-2')
        return line(`image-2-${quality === 'auto' ? pictures?.quality : quality}-image`, count)
      return [
        ...line('image-2.5-text-input', tokensOf(wire, 'text_tokens')),
        ...line('image-2.5-image-input', tokensOf(wire, 'image_tokens')),
        ...line('image-2.5-image-output', usage.output_tokens),
      ]
    case 'gen':
      if (count > 0) return line(`${model}-${(size ?? '1K').toLowerCase()}-image`, count)
      // Who does not wait for the answer is told of a failure, and those are free.
      return way === 'async' || switches.includes('blocked')
        ? []
        : line(`${model}-input-token`, usage.input_tokens)
    case 'art-b':
      return line(`${model}-image`, count - (switches.includes('one-black') ? 1 : 0))
  }
}

function tokensOf(wireUsage: unknown, name: 'text_tokens' | 'image_tokens'): number {
  const details = (
    wireUsage as { readonly input_tokens_details?: Readonly<Record<string, number>> }
  ).input_tokens_details
  return details?.[name] ?? 0
}
