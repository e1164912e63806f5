import type { Quote, RatedSku } from '../../../domain/pricing/settlement.ts'

/** What a request may cost: every SKU it can be settled at, with its price, and what is held for it. */
export interface RequestQuote extends Readonly<Omit<Quote, 'candidates'>> {
  readonly candidates: readonly RatedSku[]
}
