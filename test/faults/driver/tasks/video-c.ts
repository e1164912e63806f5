import { owedAt, pricesOf } from '../bill.ts'
import { endUsers, type TaskFamily } from './family.ts'

/** `/provC`: by the credits upstream says it took. */

/** Odd on purpose: nothing comes out round. */
export const videoCPrices = pricesOf(
  {
    'clipq3-turbo-credit': '0.0037',
    'clipq3-pro-credit': '0.0053',
    'clipq2-credit': '0.0041',
    'clipq2-pro-fast-credit': '0.0029',
    'clipq1-credit': '0.0047',
    'clip2.0-credit': '0.0031',
  },
  'USD',
  'credit',
  1,
)

/** A way of creation with a model that has it and the lengths that it makes. */
const ways = [
  ['text2video', 'clipq3-turbo', [1, 5, 16]],
  ['text2video', 'clipq2', [3, 8]],
  ['text2video', 'clipq1', [5]],
  ['img2video', 'clipq3-pro', [2, 7]],
  ['img2video', 'clipq2-pro-fast', [4, 6]],
  ['start-end2video', 'clipq3-turbo', [5, 9]],
  ['reference2video', 'clipq2', [5, 8]],
  ['reference2video', 'clip2.0', [4, 8]],
] as const
const picturesOf = {
  text2video: 0,
  img2video: 1,
  'start-end2video': 2,
  reference2video: 3,
} as const
const PICTURE = 'https://media.example.com/boat.png'

const BASE = '/provC/ent/v2'
/** What this family calls the ends that are no failures of the model. */
const failures: Readonly<Record<string, string>> = {
  UserCancelled: 'cancelled',
  TaskExpired: 'expired',
}
const words: Readonly<Record<string, string>> = {
  created: 'queued',
  queueing: 'queued',
  processing: 'running',
  success: 'succeeded',
}

export const videoC: TaskFamily = {
  name: 'video-c',
  taskPath: (id) => `${BASE}/tasks/${id}/creations`,
  removal: (id) => ({
    method: 'POST',
    path: `${BASE}/tasks/${id}/cancel`,
    body: { id },
    hides: false,
  }),
  isVideo: true,
  listPath: undefined,
  sightOf: ({ state, err_code: code, credits }) => {
    const status = words[String(state)] ?? failures[String(code)] ?? String(state)
    return { status, usage: status === 'succeeded' ? { credits: Number(credits) } : undefined }
  },
  lists: 'marked',
  refusals: ['AuditSubmitIllegal', 'CreditInsufficient'],
  failure: 'CreationPolicyViolation',
  further: [],
  measured: ({ credits }) => credits,
  owed: ({ model }, { credits = 0 }) => owedAt(videoCPrices, `${model}-credit`, credits),
  draft: (dice, text) => {
    const [way, model, lengths] = dice.pick(ways)
    const duration = dice.pick<number>(lengths)
    const resolution = dice.chance(0.25) ? undefined : dice.pick(['540p', '720p', '1080p'])
    const callerMarker = dice.chance(0.3) ? dice.pick(endUsers) : undefined
    const count = picturesOf[way]
    const settings = { duration, ...(resolution === undefined ? {} : { resolution }) }
    return {
      priced: { model, resolution, hasVideo: false },
      path: `${BASE}/${way}`,
      callerMarker,
      listed: settings,
      body: {
        model,
        prompt: text,
        ...settings,
        ...(count === 0 ? {} : { images: Array.from({ length: count }, () => PICTURE) }),
        ...(callerMarker === undefined ? {} : { payload: callerMarker }),
        ...(dice.chance(0.2) ? { off_peak: true } : {}),
      },
    }
  },
}
