import { Gauge, type Registry } from 'prom-client'
import type { Catalog, ServedModel } from '../../../domain/catalog/catalog.ts'
import { unpricedModels } from '../../../domain/pricing/coverage.ts'
import { isDomainError } from '../../../kernel/errors.ts'
import { type PriceBookSource, some } from './price-book.ts'
import type { StartedBook } from './publish-at-start.ts'

/**
 * Problems of the prices, for the readiness report. They never make a replica unready: all replicas
 * share the prices, and each still serves models with prices, and tasks created before.
 */
export function priceConcern(deps: {
  readonly catalog: Catalog
  readonly prices: PriceBookSource
  readonly served: readonly ServedModel[]
  readonly started: StartedBook
  readonly registry: Registry
}): { readonly name: 'prices'; readonly look: () => Promise<readonly string[]> } {
  const { catalog, prices, served, started } = deps
  const gauge: Gauge = new Gauge({
    name: 'tollgate_unpriced_models',
    help: 'Served models that lack a price for some requests in the price book in effect.',
    registers: [deps.registry],
    async collect() {
      // While the prices are unreadable, the last figure stays.
      const models = await prices.current().then(
        (book) => unpricedModels(catalog, served, book),
        (error: unknown) => (isDomainError(error, 'price_not_configured') ? served : undefined),
      )
      if (models !== undefined) gauge.set(models.length)
    },
  })
  const isWithheld = new Gauge({
    name: 'tollgate_price_book_withheld',
    help: '1 if the price book of this start was not published, because it lacks prices that are in use.',
    registers: [deps.registry],
  })
  isWithheld.set(started.outcome === 'withheld' ? 1 : 0)
  const look = async (): Promise<readonly string[]> => {
    try {
      // Read once: another book may come into effect at any moment.
      const book = await prices.current()
      const models = unpricedModels(catalog, served, book)
      if (models.length === 0) return withheld(started)
      const named = models.map(({ model, skus }) => `${model} (${some(skus)})`)
      return [...withheld(started), `price book ${book.version} has no price for ${some(named)}`]
    } catch (error) {
      if (isDomainError(error, 'price_not_configured')) return ['no price book is in effect']
      throw error
    }
  }
  return { name: 'prices', look }
}

function withheld({ version, outcome, lacking }: StartedBook): readonly string[] {
  if (outcome !== 'withheld') return []
  return [
    `price book ${version} was not published at start, because it lacks prices that are in use: ${some(lacking)}; ` +
      'publish it with "tollgate prices publish --yes", or add them again',
  ]
}
