import {
  type Quote,
  type RatedSku,
  settlement,
  type Settlement,
  settlementLine,
} from '../../../domain/pricing/settlement.ts'
import {
  type BilledSku,
  optionalSkus,
  type PriceBook,
  rate,
} from '../../../domain/pricing/price-book.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../../domain/task/events.ts'
import { invariant } from '../../../kernel/assert.ts'
import { type Currency, formatAmount, lineAmount, type Quantity } from '../../../kernel/money.ts'
import { defaultVideoAResolution, type VideoAModel, type VideoAResolution } from './models.ts'

/** The units of `/provA` video; tools have their names, `tool.web_search`. */
export const COMPLETION_TOKENS = 'completion_tokens'
export const TOTAL_TOKENS = 'total_tokens'
const TOOL = 'tool.'

/** The unit of the uses of a tool. */
export function toolUnit(tool: string): string {
  return `${TOOL}${tool}`
}

/** The tool a unit counts; undefined where it counts something else. */
export function toolOf(unit: string): string | undefined {
  return unit.startsWith(TOOL) ? unit.slice(TOOL.length) : undefined
}

/** The one tool that is priced. */
export const WEB_SEARCH = 'web_search'

/**
 * Turns a request for `/provA` video and its usage into SKUs. Rule names:
 *
 * - `video-a/2.0/requested-resolution/<video|novideo>`: standard 2.0, the resolution asked for
 * - `video-a/2.0/reported-resolution/…`: standard 2.0, none asked for; the rendered one, or 720p
 *   when upstream names none
 * - `video-a/2.0/tier/…`: fast and mini, one price whatever the resolution
 * - `video-a/2.5/flat/…`: 2.5, one price whatever the resolution
 * - `video-a/2.5/web-search-count`: domestic 2.5, per search made (not per search offered)
 *
 * `video` means the request contains a `video_url` item.
 */
const SEARCH_RULE = 'video-a/2.5/web-search-count'

/** Pixels of the largest frame of a resolution, any ratio: for holds only, never for settling. */
const LARGEST_FRAME_PX: Readonly<Record<VideoAResolution, number>> = {
  '480p': 430_000,
  '720p': 930_000,
  '1080p': 2_100_000,
  '4k': 8_300_000,
}
/** Upstream counts a reference video as rendered seconds; the gateway does not know its length. */
const ASSUMED_REFERENCE_VIDEO_S = { '2.0': 15, '2.5': 30 } as const
const FRAMES_PER_SECOND = 24
const PIXELS_PER_TOKEN = 1_024
const ASSUMED_SEARCHES = 5

/**
 * Every SKU the settlement of this request can use, with prices frozen, and the hold: the upstream
 * token arithmetic over the longest and largest result the request allows. The hold is an estimate;
 * the settlement follows the reported usage alone.
 *
 * @throws DomainError `price_not_configured` with `details.sku`
 */
export function quoteVideoA(model: VideoAModel, facts: TaskFacts, book: PriceBook): Quote {
  const currency = currencyOf(model)
  const tokens = tokenSkus(model, inputOf(facts), requestedResolution(facts)).map(({ sku, rule }) =>
    rate(book, sku, currency, rule),
  )
  const search = maySearch(model, facts)
    ? [rate(book, searchSku(model), currency, SEARCH_RULE)]
    : []
  const resolution = requestedResolution(facts) ?? defaultVideoAResolution
  const tokenHold = lineAmountOf(chooseToken(tokens, resolution), holdTokens(model, facts))
  const holds = [tokenHold, ...search.map((sku) => lineAmountOf(sku, ASSUMED_SEARCHES))]
  return {
    priceBookVersion: book.version,
    currency,
    candidates: [...tokens, ...search],
    hold: formatAmount(holds.reduce((sum, amountPico) => sum + amountPico, 0n)),
  }
}

/** Whether a usage is enough to settle: the gateway never settles a success at a guess (P4, P5). */
export function isSettleableVideoA(usage: Usage): boolean {
  return isCount(usage[COMPLETION_TOKENS])
}

/**
 * The settlement of a success from the frozen quote. Usage without a candidate in the quote (a
 * search that was never offered) is not billed: the caller was not quoted it. An explicit zero is a
 * settlement without lines.
 */
export function settleVideoA(input: {
  readonly model: VideoAModel
  readonly facts: TaskFacts
  readonly quote: Quote
  readonly usage: Usage
  /** Actual specs by wire name. */
  readonly output: Readonly<Record<string, unknown>>
}): Settlement {
  const { model, facts, quote, usage, output } = input
  const rendered = usage[COMPLETION_TOKENS]
  invariant(isCount(rendered), 'a settlement needs reported completion tokens')
  const tokens = quote.candidates.filter((candidate) => candidate.rule !== SEARCH_RULE)
  const search = quote.candidates.find((candidate) => candidate.rule === SEARCH_RULE)
  const resolution =
    requestedResolution(facts) ??
    model.resolutions.find((known) => known === output['resolution']) ??
    defaultVideoAResolution
  const searches = usage[toolUnit(WEB_SEARCH)] ?? 0
  return settlement(quote, [
    settlementLine(chooseToken(tokens, resolution), rendered, 'reported'),
    search && settlementLine(search, isCount(searches) ? searches : 0, 'reported'),
  ])
}

/** Every SKU by which a result of this model may be billed, whatever the request. */
export function videoAPrices(model: VideoAModel): readonly BilledSku[] {
  const currency = currencyOf(model)
  const tokens = (['novideo', 'video'] as const).flatMap((input) =>
    tokenSkus(model, input, undefined).map(({ sku }) => ({ sku, currency, unit: 'token' })),
  )
  return canSearch(model)
    ? [...tokens, ...optionalSkus([searchSku(model)], 'call', currency)]
    : tokens
}

function currencyOf({ region }: VideoAModel): Currency {
  return region === 'domestic' ? 'CNY' : 'USD'
}

function inputOf({ inputs }: TaskFacts): 'video' | 'novideo' {
  return hasVideo(inputs) ? 'video' : 'novideo'
}

function hasVideo(inputs: TaskFacts['inputs']): boolean {
  return (inputs['video'] ?? 0) > 0
}

function tokenSkus(
  model: VideoAModel,
  input: 'video' | 'novideo',
  requested: VideoAResolution | undefined,
): readonly { readonly sku: string; readonly rule: string }[] {
  const base = model.skuBase
  if (model.generation === '2.5')
    return [{ sku: `${base}-${input}`, rule: `video-a/2.5/flat/${input}` }]
  if (model.tier !== 'standard')
    return [{ sku: `${base}-${model.tier}-${input}`, rule: `video-a/2.0/tier/${input}` }]
  const rule = requested === undefined ? 'reported' : 'requested'
  const resolutions = requested === undefined ? model.resolutions : [requested]
  return resolutions.map((resolution) => ({
    sku: `${base}-${resolution}-${input}`,
    rule: `video-a/2.0/${rule}-resolution/${input}`,
  }))
}

/** A tier or a flat price is the only candidate; otherwise the SKU names its resolution. */
function chooseToken(candidates: readonly RatedSku[], resolution: VideoAResolution): RatedSku {
  const chosen =
    candidates.length === 1
      ? candidates[0]
      : candidates.find(({ sku }) => sku.includes(`-${resolution}-`))
  invariant(chosen, `a quote has a token price for ${resolution}`)
  return chosen
}

function requestedResolution(facts: TaskFacts): VideoAResolution | undefined {
  const all = Object.keys(LARGEST_FRAME_PX) as VideoAResolution[]
  return all.find((known) => known === facts.settings['resolution'])
}

function maySearch(model: VideoAModel, facts: TaskFacts): boolean {
  return facts.tools.includes(WEB_SEARCH) && canSearch(model)
}

function canSearch({ generation, region }: VideoAModel): boolean {
  return generation === '2.5' && region === 'domestic'
}

const searchSku = ({ skuBase }: VideoAModel): string => `${skuBase}-web-search`

/** `pixels × (24 × seconds + 1) ÷ 1024`, rounded up. */
function holdTokens(model: VideoAModel, facts: TaskFacts): number {
  const duration = facts.settings['duration']
  const outputS = typeof duration === 'number' && duration > 0 ? duration : model.durationS.max
  const referenceS = hasVideo(facts.inputs) ? ASSUMED_REFERENCE_VIDEO_S[model.generation] : 0
  const framePx = LARGEST_FRAME_PX[requestedResolution(facts) ?? defaultVideoAResolution]
  const frames = FRAMES_PER_SECOND * (outputS + referenceS) + 1
  return Math.ceil((framePx * frames) / PIXELS_PER_TOKEN)
}

function lineAmountOf(rated: RatedSku, quantity: Quantity): bigint {
  return lineAmount(quantity, rated.price, rated.per)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
