import { type Owed, owedAt, pricesOf } from '../bill.ts'
import type { Order, Way } from '../calls/order.ts'
import type { Dice } from '../random.ts'
import type { UpstreamCall } from '../upstream-record.ts'

/** Orders of images that differ in all that matters to money and to the ways they can go wrong. */

export interface ImageOrder extends Order {
  readonly family: 'image' | 'gen' | 'art-b'
  readonly quality: string | undefined
  readonly size: string | undefined
  /** A picture sent along as a file. */
  readonly upload: Uint8Array | undefined
}

/** What there is to make orders of. */
interface Material {
  /** A real picture, small. */
  readonly picture: Uint8Array
  /** Ids of files that hold one. */
  readonly fileIds: readonly string[]
}

const SMALL = '816x816'

interface Choice extends Pick<ImageOrder, 'family' | 'model' | 'quality' | 'size'> {
  readonly fields: Readonly<Record<string, unknown>>
  readonly streams: boolean
  readonly edits: boolean
}

function choiceOf(dice: Dice): Choice {
  return dice.weighted<() => Choice>([
    [3, () => piecewise(dice)],
    [3, () => byTokens(dice)],
    [3, () => gen(dice)],
    [3, () => group(dice)],
    [1, () => layered()],
  ])()
}

function piecewise(dice: Dice): Choice {
  const quality = dice.pick(['low', 'medium', 'high', 'auto'])
  const fields = { n: dice.integer(1, 2), size: SMALL, quality }
  const made = { family: 'image', model: 'image-2', quality, size: SMALL } as const
  return { ...made, fields, streams: true, edits: true }
}

function byTokens(dice: Dice): Choice {
  const fields = { size: SMALL, quality: dice.pick(['low', 'medium']) }
  const made = { family: 'image', model: 'image-2.5-flare', size: SMALL } as const
  return { ...made, quality: undefined, fields, streams: true, edits: true }
}

function gen(dice: Dice): Choice {
  const [model, size] = dice.pick([
    ['gen-2.5-flash-image', undefined],
    ['gen-3.1-flash-image', '512'],
    ['gen-3.1-flash-image', '1K'],
  ])
  const fields = size === undefined ? {} : { size }
  const made = { family: 'gen', model, size, quality: undefined } as const
  return { ...made, fields, streams: false, edits: true }
}

function group(dice: Dice): Choice {
  const most = dice.integer(2, 3)
  const fields = dice.chance(0.5)
    ? {
        sequential_image_generation: 'auto',
        sequential_image_generation_options: { max_images: most },
      }
    : {}
  const made = { family: 'art-b', model: 'artB-5.0-lite', size: undefined } as const
  return { ...made, quality: undefined, fields, streams: true, edits: false }
}

function layered(): Choice {
  const made = { family: 'art-b', model: 'artB-5.0-pro', size: '1K', quality: undefined } as const
  return { ...made, fields: { size: '1K' }, streams: false, edits: false }
}

/** What a life waits for more often than chance would have it. */
function wayOf(dice: Dice, { streams }: Choice, focus: string | undefined): Way {
  if (focus?.startsWith('image.') === true && dice.chance(0.8)) return 'async'
  return dice.weighted<Way>([
    [4, 'whole'],
    [3, 'url'],
    [streams ? 4 : 0, 'streamed'],
    [focus?.startsWith('call.') === true ? 0 : 5, 'async'],
  ])
}

function switchesOf(
  dice: Dice,
  { family, fields }: Choice,
  way: Way,
  focus: string | undefined,
): readonly string[] {
  if (focus === 'image.before-uncertain' && dice.chance(0.6)) return ['drop-after-accept']
  const isGroup = fields['sequential_image_generation'] !== undefined
  const refused = { image: 'moderation_blocked', gen: 'INVALID_ARGUMENT', 'art-b': REFUSED }[family]
  return dice.weighted<readonly string[]>([
    [60, []],
    [4, ['drop-after-accept']],
    [1, ['hang-after-accept']],
    [2, ['http-after-accept=500']],
    [2, ['http=503']],
    [2, ['http=429']],
    [2, ['drop-before-accept']],
    [2, ['malformed']],
    [2, ['truncated']],
    [1, ['garbage']],
    [1, ['bad-http']],
    [6, ['first-byte-ms=500']],
    [3, [`fail=${refused}`]],
    [3, ['black']],
    [family === 'image' ? 2 : 0, ['no-usage']],
    [family === 'gen' ? 4 : 0, ['no-image=STOP']],
    [family === 'gen' ? 2 : 0, ['blocked']],
    [isGroup ? 6 : 0, ['some-fail=1']],
    [isGroup ? 6 : 0, ['one-black']],
    [way === 'streamed' ? 4 : 0, ['cut-after=1']],
    [way === 'streamed' ? 3 : 0, ['error-after=1']],
  ])
}
const REFUSED = 'InputTextSensitiveContentDetected'

/** An order nobody else makes; `focus` is the crash point the gateway waits for. */
export function newImageOrder(
  dice: Dice,
  marker: string,
  { picture, fileIds }: Material,
  focus: string | undefined,
): ImageOrder {
  const choice = choiceOf(dice)
  const way = wayOf(dice, choice, focus)
  const switches = switchesOf(dice, choice, way, focus)
  const isAsync = way === 'async'
  const isEdit = choice.edits && dice.chance(0.3) && (isAsync || fileIds.length > 0)
  const file = isEdit && !isAsync ? { images: [{ file_id: dice.pick(fileIds) }] } : {}
  const { family, model, quality, size, fields } = choice
  return {
    marker,
    family,
    model,
    way,
    quality,
    size,
    switches,
    path: `/v1/images/${isEdit ? 'edits' : 'generations'}${isAsync ? '/async' : ''}`,
    body: {
      model,
      prompt: `a boat [[client=${marker}]] [[sandbox ${switches.join(' ')}]]`,
      ...fields,
      ...file,
      ...(way === 'streamed' ? { stream: true, n: 1 } : {}),
      ...(isAsync ? {} : { response_format: way === 'url' ? 'url' : 'b64_json' }),
    },
    upload: isEdit && isAsync ? picture : undefined,
  }
}

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
