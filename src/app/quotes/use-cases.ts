import type { CheckAssets } from '../assets/types.ts'
import type { CallDeps } from '../calls/deps.ts'
import { checkImageCount } from '../calls/images/results.ts'
import { createImageFamily } from '../calls/images/family.ts'
import type { ImageDeps } from '../calls/images/types.ts'
import { quoteCall } from '../calls/runner.ts'
import { quoteTask } from '../tasks/quote.ts'
import type { QuoteUseCases } from './types.ts'

/** What prices of every family are made of. */
export interface QuoteDeps {
  readonly calls: CallDeps
  readonly checkAssets: CheckAssets
  readonly images: Pick<ImageDeps, 'providers' | 'imagePlace' | 'openImageFile' | 'fetchPublic'>
}

/** Prices of requests that are not made, by what would make them. */
export function createQuoteUseCases(deps: QuoteDeps): QuoteUseCases {
  const { calls, checkAssets } = deps
  const tasks = { catalog: calls.catalog, prices: calls.prices, checkAssets }
  const images = createImageFamily({ ...calls, ...deps.images })
  const ready = () => Promise.reject(new Error('the pictures of a quote are not fetched'))
  return {
    images: (input) => quoteCall(calls, images, { ...input, ready }),
    task: (order) => quoteTask(tasks, order),
    imageTask: async ({ principal, family, model, request }) => {
      checkImageCount(model, request.count, calls.channels.serving({ family, model }))
      return quoteTask(tasks, { principal, family, model, facts: request.facts })
    },
  }
}
