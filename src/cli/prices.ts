import type { Command } from 'commander'
import { catalog } from '../families/index.ts'
import { readFile } from 'node:fs/promises'
import { listPriceBooks, type PublishedPriceBook } from '../../projections/prices/query.ts'
import { findPriceBook } from '../app/finance/prices/price-book.ts'
import { bookOf, publishIfConfirmed } from '../app/finance/prices/publish.ts'
import { priceBookDifference } from '../domain/pricing/price-book-difference.ts'
import type { Publication } from '../domain/pricing/publication.ts'
import { systemClock } from '../kernel/clock.ts'
import { actorOf } from './actor.ts'
import { note, print, table, toJson } from './output.ts'
import { differenceLines, priceText, publicationLines } from './price-tables.ts'
import type { Session } from './session.ts'
import { readServedModels } from './upstreams.ts'
import { addAccountPrices } from './account-prices.ts'
import { addWhatIf } from './what-if.ts'
import { type ActorOption, changing, JSON_OPTION, onStores } from './command.ts'

const PUBLISH_HELP = `
Shows what changes against the book that is in effect when this one begins, and which served models (those in
CHANNELS_FILE) have no price in it. The book is published immediately unless it
  - lacks prices that are in use now,
  - takes effect in the past, that is immediately, or
  - never takes effect, because a later book is in effect by then.
In these cases nothing is published and the exit code is 1; --yes publishes it anyway. A book that another one has
replaced can only be published again under a new version.`

/** Registers `tollgate prices …`. */
export function addPrices(program: Command): void {
  const group = program
    .command('prices')
    .description('price books: publish, list, show and compare')
  changing(group.command('publish'))
    .description('publish a price book file; publishing the same book again changes nothing')
    .argument('<file>')
    .option(
      '--demonstrations',
      'keep prices marked as demonstrations, which apply on the sandbox only',
    )
    .option('--yes', 'publish although prices are removed or change immediately')
    .addHelpText('after', PUBLISH_HELP)
    .action(onStores(publishPricesCommand))
  group
    .command('list')
    .description('published price books, sorted by start, latest first')
    .option(...JSON_OPTION)
    .action(onStores(listPricesCommand))
  group
    .command('show')
    .description('the prices of a published book')
    .argument('<version>')
    .option(...JSON_OPTION)
    .action(onStores(showPricesCommand))
  group
    .command('diff')
    .description('what changes from one published book to another')
    .argument('<version>')
    .argument('<other version>')
    .option(...JSON_OPTION)
    .action(onStores(diffPricesCommand))
  addAccountPrices(group)
  addWhatIf(group)
}

/**
 * `tollgate prices publish`: shows what changes. A book that removes prices, or changes them at
 * once or never, is published with `--yes` only; without it the exit code is 1 and nothing
 * happened. The same book again changes nothing.
 */
async function publishPricesCommand(
  { config, log, projected }: Session,
  path: string,
  options: ActorOption & { demonstrations?: boolean; yes?: boolean; json?: boolean },
): Promise<void> {
  const actor = actorOf(options.actor)
  const demonstrations = options.demonstrations === true
  const outcome = await publishIfConfirmed(
    { log, catalog, clock: systemClock },
    {
      book: bookOf(catalog, { yamlText: await readFile(path, 'utf8'), demonstrations }),
      served: await readServedModels(config),
      isConfirmed: options.yes === true,
      correlationId: 'cli',
      actor,
    },
  )
  const { publication, toConfirm, published, position } = outcome
  show(publication, { published, asked: toConfirm }, options.json)
  if (toConfirm.length > 0) {
    process.exitCode = 1
    return note(`nothing was published: ${toConfirm.join('; ')}. Use --yes to publish it.`)
  }
  await projected('prices', position)
}

function show(
  publication: Publication,
  outcome: { readonly published: boolean; readonly asked: readonly string[] },
  json: boolean | undefined,
): void {
  const { published: before, basis: _basis, ...shown } = publication
  if (json) return print(toJson({ ...shown, ...outcome, publishedBefore: before }))
  if (before) return print(`${publication.version}: was published before`)
  for (const line of publicationLines(publication)) print(line)
  if (outcome.published) print(`${publication.version}: published`)
}

/** `tollgate prices list`: the latest to begin first. */
async function listPricesCommand({ pool }: Session, options: { json?: boolean }): Promise<void> {
  const listed = await listPriceBooks(pool, { atMs: systemClock.nowMs() })
  const books = listed.map((book) => ({ ...book, state: book.state.replace('_', ' ') }))
  if (options.json) return print(toJson(books))
  const rows = books.map((b) => [
    b.version,
    b.state,
    b.effectiveFrom,
    String(b.prices),
    b.publishedAt,
    b.publishedBy ?? '',
  ])
  const columns = ['version', 'state', 'effective from', 'prices', 'published', 'by']
  for (const line of table(columns, rows)) print(line)
}

/** `tollgate prices show <version>` */
async function showPricesCommand(
  session: Session,
  version: string,
  options: { json?: boolean },
): Promise<void> {
  const book = await bookNamed(session, version)
  if (options.json) {
    const { lookup: _lookup, position: _position, ...shown } = book
    return print(toJson(shown))
  }
  const by = book.publishedBy === undefined ? '' : ` by ${book.publishedBy}`
  print(`${book.version}, effective from ${book.effectiveFrom}, published ${book.publishedAt}${by}`)
  const rows = book.entries.map((entry) => [entry.sku, entry.currency, priceText(entry)])
  for (const line of table(['sku', 'currency', 'price'], rows)) print(line)
}

/** `tollgate prices diff <a> <b>`: what changes from the one to the other. */
async function diffPricesCommand(
  session: Session,
  from: string,
  to: string,
  options: { json?: boolean },
): Promise<void> {
  const before = await bookNamed(session, from)
  const after = await bookNamed(session, to)
  const difference = priceBookDifference(before.entries, after.entries)
  if (options.json) return print(toJson({ from: before.version, to: after.version, ...difference }))
  for (const line of differenceLines(difference)) print(line)
}

/** A book published a moment ago counts. @throws DomainError `price_book_not_found` */
async function bookNamed(
  { pool, caughtUp }: Session,
  version: string,
): Promise<PublishedPriceBook> {
  await caughtUp('prices')
  return findPriceBook(pool, version)
}
