import type { TaskModel, TaskSuccess } from '../../../domain/catalog/task-rules.ts'
import { countOf } from '../../../kernel/json.ts'
import { formatAmount, lineAmount } from '../../../kernel/money.ts'
import {
  type Quote,
  settlement,
  type Settlement,
  settlementLine,
} from '../../../domain/pricing/settlement.ts'
import { type PriceBook, rate } from '../../../domain/pricing/price-book.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'

/** The `/provC` video models: one row per external name. They belong to no region. */

/** The ways of creating a video, as the wire calls them. */
export const videoCModes = [
  'text2video',
  'img2video',
  'start-end2video',
  'reference2video',
] as const
export type VideoCMode = (typeof videoCModes)[number]

type VideoCResolution = '540p' | '720p' | '1080p'
export const videoCResolutions: readonly VideoCResolution[] = ['540p', '720p', '1080p']

export interface VideoCModel extends TaskModel {
  readonly modes: readonly VideoCMode[]
  /** Seconds it makes, rising. */
  readonly durationsS: readonly number[]
  /** Upstream's default. */
  readonly defaultDurationS: number
  readonly defaultResolution: VideoCResolution
  /** Whether it makes sound together with the picture. */
  readonly hasAudio: boolean
}

type Series = Omit<VideoCModel, 'name' | 'aliases' | 'modes'>

function upTo(longestS: number): readonly number[] {
  return Array.from({ length: longestS }, (_, index) => index + 1)
}

const q3: Series = {
  durationsS: upTo(16),
  defaultDurationS: 5,
  defaultResolution: '720p',
  hasAudio: true,
}
const q2: Series = { ...q3, durationsS: upTo(8), hasAudio: false }
/** The provider documents no range for this series: it has a single length. */
const q1: Series = {
  durationsS: [5],
  defaultDurationS: 5,
  defaultResolution: '1080p',
  hasAudio: false,
}
const older: Series = {
  durationsS: [4, 8],
  defaultDurationS: 4,
  defaultResolution: '720p',
  hasAudio: false,
}

function model(name: string, series: Series, modes: readonly VideoCMode[]): VideoCModel {
  return { name, aliases: [], ...series, modes }
}

const pictures = ['img2video', 'start-end2video'] as const

/** All ten. Rows stay for ever: settling an old task needs its row. */
export const videoCModels: readonly VideoCModel[] = [
  model('clipq3-turbo', q3, ['text2video', ...pictures]),
  model('clipq3-pro', q3, ['text2video', ...pictures]),
  model('clipq2', q2, ['text2video', 'reference2video']),
  model('clipq2-pro-fast', q2, pictures),
  model('clipq2-pro', q2, pictures),
  model('clipq2-turbo', q2, pictures),
  model('clipq1', q1, videoCModes),
  model('clipq1-classic', q1, pictures),
  model('clip2.0', older, videoCModes),
  model('clip1.5', older, ['text2video', 'img2video', 'reference2video']),
]

const byName: ReadonlyMap<string, VideoCModel> = new Map(videoCModels.map((one) => [one.name, one]))

/** The model of an external name. */
export function resolveVideoCModel(name: string): VideoCModel | undefined {
  return byName.get(name)
}

/**
 * Turns a result of `/provC` video into SKUs, by the credits that upstream reports. Rule names:
 *
 * - `video-c/credit`
 * - `video-c/credit/off-peak`: upstream charges half the credits, at the same price each
 */

/** The unit of usage, by the wire's name. */
export const CREDITS = 'credits'
const CURRENCY = 'USD'

/** Credits of a second of video, for holds only: upstream's answers have the real number. */
const EXPECTED_CREDITS_A_SECOND: Readonly<Record<VideoCResolution, number>> = {
  '540p': 12,
  '720p': 20,
  '1080p': 40,
}

export function videoCPrices({ name }: VideoCModel) {
  return [{ sku: `${name}-credit`, currency: CURRENCY, unit: 'credit' }] as const
}

/** @throws DomainError `price_not_configured` */
export function quoteVideoC(model: VideoCModel, facts: TaskFacts, book: PriceBook): Quote {
  const isOffPeak = facts.settings['off_peak'] === true
  const rule = isOffPeak ? 'video-c/credit/off-peak' : 'video-c/credit'
  const [{ sku }] = videoCPrices(model)
  const rated = rate(book, sku, CURRENCY, rule)
  const credits = expectedCredits(model, facts)
  return {
    priceBookVersion: book.version,
    currency: CURRENCY,
    candidates: [rated],
    hold: formatAmount(lineAmount(credits, rated.price, rated.per)),
  }
}

/**
 * Undefined without a count of credits: the gateway never settles a success at a guess (P4, P5).
 */
export function settleVideoC({ quote, usage }: TaskSuccess): Settlement | undefined {
  const credits = countOf(usage[CREDITS])
  const [rated] = quote.candidates
  if (credits === undefined || rated === undefined) return undefined
  return settlement(quote, [settlementLine(rated, credits, 'reported')])
}

function expectedCredits(model: VideoCModel, { settings }: TaskFacts): number {
  const { duration, resolution } = settings
  const seconds = typeof duration === 'number' ? duration : model.defaultDurationS
  const aSecond = Object.entries(EXPECTED_CREDITS_A_SECOND).find(([name]) => name === resolution)
  const credits = seconds * (aSecond?.[1] ?? EXPECTED_CREDITS_A_SECOND[model.defaultResolution])
  return settings['off_peak'] === true ? Math.ceil(credits / 2) : credits
}
