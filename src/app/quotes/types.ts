import type { ImageCallInput } from '../calls/images/types.ts'
import type { Unmade } from '../calls/types.ts'
import type { RequestQuote } from '../pricing/request-quote.ts'
import type { PricedTask } from '../tasks/quote.ts'

/** What the API asks about prices, and what it gets back; no HTTP here. */

/**
 * Each prices a request as its creation would, and does nothing else. Domain error codes: those by
 * which the request itself would be refused; balances, limits a minute and whether a channel can be
 * asked at the moment are not looked at.
 */
export interface QuoteUseCases {
  /** Of images made at once; their pictures are not looked into. */
  readonly images: (input: Unmade<ImageCallInput>) => Promise<RequestQuote>
  readonly task: (order: PricedTask) => Promise<RequestQuote>
  /** Of images made as a task. */
  readonly imageTask: (
    order: Pick<ImageCallInput, 'principal' | 'family' | 'model' | 'request'>,
  ) => Promise<RequestQuote>
}
