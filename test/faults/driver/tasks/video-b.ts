import { owedAt, pricesOf } from '../bill.ts'
import type { Dice } from '../random.ts'
import type { Usage, TaskFamily } from './family.ts'

/** `/provB`: by seconds, and by the input images beyond those that are free. */

const FREE_IMAGES = 5

/** Odd on purpose: nothing comes out round. */
export const videoBPrices = [
  ...pricesOf(
    {
      'h3-768p-second': '0.0813',
      'h3-2k-second': '0.1637',
      'h3-max-480p-second': '0.0507',
      'h3-max-768p-second': '0.0911',
    },
    'USD',
    'second',
    1,
  ),
  ...pricesOf({ 'h3-extra-input-image': '0.0031' }, 'USD', 'image', 1),
]

const models = [
  { model: 'h3-video', sku: 'h3', resolutions: ['768P', '2K'], shortest: 4, takes: true },
  {
    model: 'h3-video-max',
    sku: 'h3-max',
    resolutions: ['480P', '768P'],
    shortest: 5,
    takes: false,
  },
] as const
const ratios = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16']
/** Nobody has to be asked where it is. */
const PICTURE = 'data:image/png;base64,iVBORw0KGgo='
const CLIP = 'data:video/mp4;base64,AAAAHGZ0eXA='

interface Shown {
  readonly media: readonly object[]
  readonly ratio: string | undefined
}

/** What a request shows of its video, with the shape it asks for. */
function shownOf(dice: Dice, takesReferences: boolean): Shown {
  const items = (count: number, type: string, role: string, url: string): readonly object[] =>
    Array.from({ length: count }, () => ({ type, role, [type]: { url } }))
  return dice.weighted<() => Shown>([
    [6, () => ({ media: [], ratio: dice.pick(ratios) })],
    [
      2,
      () => ({
        media: items(1, 'image_url', 'first_frame', PICTURE),
        ratio: dice.chance(0.5) ? 'adaptive' : undefined,
      }),
    ],
    [
      takesReferences ? 4 : 0,
      () => ({
        media: [
          ...items(dice.integer(1, 9), 'image_url', 'reference_image', PICTURE),
          ...items(dice.integer(0, 1), 'video_url', 'reference_video', CLIP),
        ],
        ratio: dice.chance(0.2) ? undefined : dice.pick([...ratios, 'adaptive']),
      }),
    ],
  ])()
}

const CREATE = '/provB/v2/video_generation'

export const videoB: TaskFamily = {
  name: 'video-b',
  taskPath: (id) => `/provB/v2/query/video_generation/${id}`,
  removal: undefined,
  isVideo: true,
  listPath: undefined,
  sightOf: ({ task }) => {
    const { status, usage } = (task ?? {}) as { readonly status?: string; readonly usage?: Usage }
    return { status: String(status), usage: status === 'succeeded' ? usage : undefined }
  },
  lists: 'unmarked',
  refusals: ['1026', '1008'],
  failure: '1027',
  further: [[4, ['total-missing']]],
  measured: ({ total_seconds: total, output_seconds: rendered }) => total ?? rendered,
  owed: ({ model, resolution = '768P' }, usage) => {
    const { total_seconds: total, output_seconds: rendered = 0 } = usage
    const { input_image_count: images = 0 } = usage
    const sku = models.find((one) => one.model === model)?.sku ?? model
    const extra = Math.max(0, images - FREE_IMAGES)
    return [
      ...owedAt(videoBPrices, `${sku}-${resolution.toLowerCase()}-second`, total ?? rendered),
      ...(extra === 0 ? [] : owedAt(videoBPrices, `${sku}-extra-input-image`, extra)),
    ]
  },
  draft: (dice, text) => {
    const { model, resolutions, shortest, takes } = dice.pick(models)
    const resolution = dice.chance(0.3) ? undefined : dice.pick<string>(resolutions)
    const { media, ratio } = shownOf(dice, takes)
    const duration = dice.integer(shortest, 15)
    const settings = {
      duration,
      ...(resolution === undefined ? {} : { resolution }),
      ...(ratio === undefined ? {} : { ratio }),
    }
    return {
      priced: { model, resolution, hasVideo: false },
      path: CREATE,
      callerMarker: undefined,
      // Upstream shows what came out, whatever it was left to choose.
      listed: {
        duration,
        resolution: resolution ?? '768P',
        ratio: ratio === undefined || ratio === 'adaptive' ? '16:9' : ratio,
      },
      body: { model, content: [{ type: 'text', text }, ...media], ...settings },
    }
  },
}
