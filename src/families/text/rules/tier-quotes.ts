import { isUsualWord } from '../../../domain/catalog/checks/price-members.ts'
import type { RatedSku } from '../../../domain/pricing/settlement.ts'
import { type ExpectedUse, holdText, type TextQuote } from './pricing.ts'
import { tokenUnits, type TextUsage } from './tokens.ts'

/** Prices of one call, of which its answer decides: those of a tier, or of a long prompt. */

export interface TierQuotes {
  /** The prices of the tier that was asked for. */
  readonly asked: TextQuote
  /** The usual prices, where a call asks for another tier and is billed by the tier that served it. */
  readonly usual?: TextQuote
  /** The prices of a prompt of more tokens. */
  readonly long?: { readonly quote: TextQuote; readonly aboveTokens: number }
}

/** The tier that served a call, and the tokens of its longest prompt, as its answer reports them. */
interface Served {
  readonly servedTier?: string
  readonly promptTokens?: number
}

const inputUnits = tokenUnits.filter((unit) => unit !== 'output')

/** The prices by which a call is billed. */
export function billedQuote(
  { asked, usual, long }: TierQuotes,
  { servedTier, promptTokens }: Served,
  usage: TextUsage,
): TextQuote {
  if (usual !== undefined && isUsualWord(servedTier)) return usual
  if (long === undefined) return asked
  const prompt = promptTokens ?? inputUnits.reduce((sum, unit) => sum + usage[unit], 0)
  return prompt > long.aboveTokens ? long.quote : asked
}

/** An estimate of a prompt may be this much too low. */
const NEAR = 0.8

/** The prices by which a call of this size may be billed, the dearest first. */
function dearestFirst(
  { asked, usual, long }: TierQuotes,
  expected: ExpectedUse,
): readonly TextQuote[] {
  const quotes = [asked, ...(usual === undefined ? [] : [usual])]
  if (long !== undefined && expected.inputTokens >= long.aboveTokens * NEAR) quotes.push(long.quote)
  const held = (quote: TextQuote): bigint => holdText(quote, expected)
  return quotes.toSorted((one, other) => (held(other) > held(one) ? 1 : -1))
}

/** The prices that a hold of a call of this size uses. */
export function heldQuote(quotes: TierQuotes, expected: ExpectedUse): TextQuote {
  return dearestFirst(quotes, expected)[0] ?? quotes.asked
}

/** Every SKU by which a call may be billed, each once. */
export function candidatesOf({ asked, usual, long }: TierQuotes): readonly RatedSku[] {
  if (usual === undefined && long === undefined) return asked.candidates
  const all = [asked, usual, long?.quote].flatMap((quote) => quote?.candidates ?? [])
  const byRule = new Map(all.map((rated) => [`${rated.sku} ${rated.rule}`, rated]))
  return [...byRule.values()]
}
