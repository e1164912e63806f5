import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Catalog } from '../../../domain/catalog/catalog.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Log } from '../../../kernel/log.ts'
import { programFile } from '../../../kernel/program-files.ts'
import { publishAtStart, type StartedBook } from './publish-at-start.ts'

const SHIPPED_PRICE_BOOK = 'infra/pricebook.yaml'

/** Publishes the configured price book, or the shipped one, and says what came of it. */
export async function publishPrices(options: {
  readonly config: { readonly priceBookFile: string | undefined }
  readonly sandbox: boolean
  readonly log: EventLog
  readonly catalog: Catalog
  readonly clock: Clock
  readonly logger: Log
}): Promise<StartedBook> {
  const { log, catalog, clock } = options
  const path = options.config.priceBookFile ?? fileURLToPath(programFile(SHIPPED_PRICE_BOOK))
  const book = await publishAtStart(
    { log, catalog, clock },
    { yamlText: await readFile(path, 'utf8'), demonstrations: options.sandbox },
  )
  if (book.outcome === 'withheld')
    options.logger.warn(
      { version: book.version, lacking: book.lacking.length },
      'the price book lacks prices sold at and was not published',
    )
  else options.logger.info({ version: book.version, outcome: book.outcome }, 'price book')
  return book
}
