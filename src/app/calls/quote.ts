import { formatAmount } from '../../kernel/money.ts'
import type { RequestQuote } from '../pricing/request-quote.ts'
import { resolveOffered } from './admit.ts'
import type { CallDeps } from './deps.ts'
import type { CallFamily } from './family.ts'
import type { CallInput, Unmade } from './types.ts'

/**
 * What a call would hold and may be settled at, by the rules by which it would be admitted. Nothing is
 * held, taken or sent. @throws as `admit`, but for balances, limits and the log
 */
export async function quoteCall<Input extends CallInput, Request, Seen>(
  deps: Pick<CallDeps, 'channels' | 'prices'>,
  { resolve }: Pick<CallFamily<Input, Request, Seen, unknown>, 'resolve'>,
  input: Unmade<Input> & Unmade<CallInput>,
): Promise<RequestQuote> {
  const { price } = resolveOffered(deps, input, (serving) => resolve(input, serving))
  const { priceBookVersion, currency, holdPico, candidates } = price(
    await deps.prices.of(input.principal.tenantId),
  )
  return { priceBookVersion, currency, hold: formatAmount(holdPico), candidates }
}
