import { owedAt, pricesOf } from '../bill.ts'
import { endUsers, type Usage, type TaskFamily } from './family.ts'

/** `/provA`: by tokens; its prices are the shipped ones. */

export const TASKS = '/provA/api/v3/contents/generations/tasks'

type Pair = readonly [novideo: string, video: string]

/** Of a million tokens. */
const domestic: Readonly<Record<string, Pair>> = {
  '2-0-480p': ['46', '28'],
  '2-0-720p': ['46', '28'],
  '2-0-1080p': ['51', '31'],
  '2-0-4k': ['26', '16'],
  '2-0-fast': ['37', '22'],
  '2-0-mini': ['23', '14'],
  '2-5': ['70', '42'],
}
const overseas: Readonly<Record<string, Pair>> = {
  '2-0-480p': ['7', '4.3'],
  '2-0-720p': ['7', '4.3'],
  '2-0-1080p': ['7.7', '4.7'],
  '2-0-4k': ['4', '2.4'],
  '2-0-fast': ['5.6', '3.3'],
  '2-0-mini': ['3.5', '2.1'],
  '2-5': ['10.7', '6.4'],
}

function skusOf(region: string, table: Readonly<Record<string, Pair>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, [novideo, video]]) => [
      [`${region}-video-${name}-novideo`, novideo],
      [`${region}-video-${name}-video`, video],
    ]),
  )
}

const prices = [
  ...pricesOf(skusOf('domestic', domestic), 'CNY', 'token', 1_000_000),
  ...pricesOf(skusOf('overseas', overseas), 'USD', 'token', 1_000_000),
]

/** Models with the name callers may use instead. */
const models: readonly (readonly [name: string, alias: string])[] = [
  ['domestic-video-2-0', 'domestic-video-2-0-260128'],
  ['domestic-video-2-0-fast', 'domestic-video-2-0-fast-260128'],
  ['domestic-video-2-0-mini', 'domestic-video-2-0-mini-260615'],
  ['domestic-video-2-5', 'domestic-video-2-5-260628'],
  ['overseas-video-2-0', 'overseas-video-2-0-260128'],
  ['overseas-video-2-0-fast', 'overseas-video-2-0-fast-260128'],
  ['overseas-video-2-0-mini', 'overseas-video-2-0-mini-260615'],
  ['overseas-video-2-0-filter-off', 'overseas-video-2-0-filter-off'],
  ['overseas-video-2-5', 'overseas-video-2-5-260628'],
]

const taskPath = (id: string): string => `${TASKS}/${id}`

export const videoA: TaskFamily = {
  name: 'video-a',
  taskPath,
  removal: (id) => ({ method: 'DELETE', path: taskPath(id), hides: true }),
  isVideo: true,
  listPath: TASKS,
  sightOf: ({ status, usage }) => ({ status: String(status), usage: usage as Usage | undefined }),
  lists: 'marked',
  refusals: ['InputTextSensitiveContentDetected', 'ModelNotOpen'],
  failure: 'OutputVideoSensitiveContentDetected',
  further: [],
  measured: ({ completion_tokens: tokens }) => tokens,
  owed: ({ model, resolution = '720p', hasVideo }, { completion_tokens: tokens = 0 }) => {
    const [, line = '', generation = '', tier] =
      /^((?:domestic|overseas)-video-(2-0|2-5))(?:-(fast|mini))?(?:-filter-off)?$/.exec(model) ?? []
    const detail = generation === '2-5' ? '' : `-${tier ?? resolution}`
    return owedAt(prices, `${line}${detail}-${hasVideo ? 'video' : 'novideo'}`, tokens)
  },
  draft: (dice, text) => {
    const [model, alias] = dice.pick(models)
    const small = /fast|mini|2-5/.test(model)
    const resolution = dice.weighted<string | undefined>([
      [2, undefined],
      [3, '480p'],
      [4, '720p'],
      ...(small
        ? []
        : ([
            [1, '1080p'],
            [1, '4k'],
          ] as const)),
    ])
    const hasVideo = dice.chance(0.25)
    const callerMarker = dice.chance(0.35) ? dice.pick(endUsers) : undefined
    const duration = dice.integer(4, 8)
    const video = {
      type: 'video_url',
      role: 'reference_video',
      video_url: { url: 'https://media.example.com/reference.mp4' },
    }
    return {
      priced: { model, resolution, hasVideo },
      path: TASKS,
      callerMarker,
      listed: { duration, ...(resolution === undefined ? {} : { resolution }) },
      body: {
        model: dice.chance(0.3) ? alias : model,
        content: [{ type: 'text', text }, ...(hasVideo ? [video] : [])],
        duration,
        ...(resolution === undefined ? {} : { resolution }),
        ...(callerMarker === undefined ? {} : { safety_identifier: callerMarker }),
        ...(dice.chance(0.2) ? { execution_expires_after: 3_600 } : {}),
      },
    }
  },
}
