import { offeredTools } from '../../domain/families/text/models.ts'
import type { PriceBook } from '../../domain/pricing/price-book.ts'
import { quoteText, type TextQuote } from '../../domain/families/text/pricing.ts'
import { DomainError } from '../../kernel/errors.ts'
import { newCallId } from '../../kernel/ids.ts'
import type { ChannelWish } from '../channels/directory.ts'
import type { Taken } from '../throttle/token-use.ts'
import { expectedPico, expectedTokens } from './text/expected.ts'
import type { CallDeps } from './deps.ts'
import type { Hold } from '../spending/tenant-funds.ts'
import { resolveKept } from './text/kept-references.ts'
import type { TextCallInput } from './types.ts'

/** A call that was admitted: priced, its hold placed, nothing sent yet. */
export interface AdmittedCall {
  readonly callId: string
  /** Without the body: a stream outlives what began it, and that may be large. */
  readonly input: Omit<TextCallInput, 'body'>
  /** Which channels may serve it. */
  readonly wish: ChannelWish
  readonly streamed: boolean
  readonly startedAtMs: number
  readonly quote: TextQuote
  /** Its end is the end of what was taken of the token's limits as well. */
  readonly hold: Hold
  /** Of the token's limits; undefined where it has none. */
  readonly taken: Taken | undefined
}

/** Quotes by book and what they depend on; a new book begins with none. */
const quotes = new WeakMap<PriceBook, Map<string, TextQuote>>()
/** Models times families times sets of tools: far more than there are. */
const MAX_QUOTES = 10_000

function quoteOf(input: TextCallInput, book: PriceBook): TextQuote {
  const tools = offeredTools(input.family, input.body)
  const key = `${input.family} ${input.model} ${tools.join()}`
  const ofBook = quotes.get(book) ?? new Map<string, TextQuote>()
  quotes.set(book, ofBook)
  const known = ofBook.get(key)
  if (known !== undefined) return known
  const made = quoteText(input.model, input.family, tools, book)
  if (ofBook.size < MAX_QUOTES) ofBook.set(key, made)
  return made
}

/**
 * Everything that can be refused before anything is sent; with the body to send.
 *
 * @throws DomainError `model_not_allowed`, `unknown_model`, `previous_response_not_found`,
 *   `kept_unavailable`, `log_unavailable`, `rate_limited`, `price_not_configured`,
 *   `insufficient_balance`
 */
export async function admit(
  deps: CallDeps,
  input: TextCallInput,
  streamed: boolean,
): Promise<{ readonly call: AdmittedCall; readonly body: TextCallInput['body'] }> {
  const { principal, family, model } = input
  if (principal.models !== undefined && !principal.models.has(model))
    throw new DomainError('model_not_allowed', `this token may not use ${model}`, { model })
  const serving = deps.channels.serving({ family, model })
  if (serving.length === 0)
    throw new DomainError('unknown_model', `the model ${model} does not exist here`, { model })
  const { body, wish } = resolveKept(deps, input)
  if (!deps.log.healthy()) await deps.log.ready()
  const taken = deps.rates.take(principal, () => expectedTokens(input))
  try {
    const quote = quoteOf(input, await deps.prices.current())
    const pico = expectedPico(quote, input, serving)
    const held = await deps.funds.hold(principal.tenantId, quote.currency, pico)
    const hold = taken === undefined ? held : endingBoth(held, taken)
    const startedAtMs = deps.clock.nowMs()
    const { body: _body, ...kept } = input
    const callId = newCallId(startedAtMs)
    const call = { callId, input: kept, wish, streamed, startedAtMs, quote, hold, taken }
    return { call, body }
  } catch (error) {
    taken?.giveBack()
    throw error
  }
}

/** A call that ends without a settlement used none of the tokens that were expected of it. */
function endingBoth(held: Hold, taken: Taken): Hold {
  return {
    settle: held.settle,
    withdraw: () => {
      held.withdraw()
      taken.settle(0)
    },
  }
}
