import type { TaskSuccess } from '../../../domain/catalog/task-rules.ts'
import { type PriceBook, rate } from '../../../domain/pricing/price-book.ts'
import {
  type Quote,
  settlement,
  type Settlement,
  settlementLine,
} from '../../../domain/pricing/settlement.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { countOf } from '../../../kernel/json.ts'
import { formatAmount, lineAmount } from '../../../kernel/money.ts'
import type { VideoCModel, VideoCResolution } from './models.ts'

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
