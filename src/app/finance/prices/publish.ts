import { parse } from 'yaml'
import type { Catalog, ServedModel } from '../../../domain/catalog/catalog.ts'
import { type PriceBookPublished, priceBookStream } from '../../../domain/pricing/events.ts'
import { priceBookDecider } from '../../../domain/pricing/price-book-decider.ts'
import {
  type PriceBookDocument,
  priceBookFromDocument,
  withoutDemonstrations,
} from '../../../domain/pricing/price-book-document.ts'
import { lookAhead, type Publication, whyAsked } from '../../../domain/pricing/publication.ts'
import { executeCommand } from '../../../eventlog/log/execute.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { type Clock, toTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { newId } from '../../../kernel/ids.ts'

export interface PublishDeps {
  readonly log: EventLog
  readonly catalog: Catalog
  readonly clock: Clock
}

/** A price book file, and how much of it is meant. */
export interface PriceBookFile {
  readonly yamlText: string
  /** Whether its demonstration prices are kept: only the sandbox may sell at them. */
  readonly demonstrations: boolean
}

interface PublishedPriceBook {
  readonly version: string
  /** False when exactly this book was published before. */
  readonly published: boolean
  readonly position: bigint | undefined
}

interface PublishedBy {
  /** Of the look that was taken before: with another book since, nothing is published. */
  readonly basis?: number
  readonly correlationId: string
  /** Who has it done. */
  readonly actor: string
}

/**
 * Publishes a price book file through the log; the same book again changes nothing.
 * @throws DomainError `price_book_invalid`, those of the price-book decider, and the log's codes
 */
export async function publishPriceBook(
  deps: PublishDeps,
  { yamlText, demonstrations, ...input }: PriceBookFile & PublishedBy,
): Promise<PublishedPriceBook> {
  return publishBook(deps, { ...input, book: bookOf({ yamlText, demonstrations }) })
}

/** The same of a book that is read already. @throws as `publishPriceBook` */
async function publishBook(
  deps: PublishDeps,
  { book, basis, correlationId, actor }: PublishedBy & { readonly book: PriceBookDocument },
): Promise<PublishedPriceBook> {
  const nowMs = deps.clock.nowMs()
  const at = toTimestamp(nowMs)
  const result = await executeCommand({
    log: deps.log,
    stream: priceBookStream,
    decider: priceBookDecider,
    command: { kind: 'publish', book, at, ...(basis === undefined ? {} : { basis }) },
    commandId: newId('cmd', nowMs),
    metadata: { correlationId, actor },
  })
  return {
    version: book.version,
    published: result.events.length > 0,
    position: result.position,
  }
}

/**
 * What publishing a book would change, straight from the log.
 *
 * @param served what channels serve, undefined where they are not known
 * @throws DomainError `price_book_version_taken`, `price_book_replaced`
 */
export async function lookAtPublication(
  deps: PublishDeps,
  book: PriceBookDocument,
  served: readonly ServedModel[] | undefined,
): Promise<Publication> {
  return lookAhead(deps.catalog, book, await publishedBooks(deps.log), served, deps.clock.nowMs())
}

/** Every published book, in order, straight from the log. */
export async function publishedBooks(log: EventLog): Promise<readonly PriceBookPublished[]> {
  const events = await log.readStream(priceBookStream)
  return events.flatMap((event) => (event.type === 'PriceBookPublished' ? [event.data] : []))
}

/** The book a file describes. @throws DomainError `price_book_invalid` */
export function bookOf({ yamlText, demonstrations }: PriceBookFile): PriceBookDocument {
  return readBook(parsedYaml(yamlText, 'the price book'), demonstrations)
}

/** The book a document describes, with or without its demonstration prices. @throws DomainError `price_book_invalid` */
export function readBook(document: unknown, demonstrations: boolean): PriceBookDocument {
  const whole = priceBookFromDocument(document)
  return demonstrations ? whole : withoutDemonstrations(whole)
}

/** What a file of prices says. @throws DomainError `price_book_invalid`, naming `what` */
export function parsedYaml(yamlText: string, what: string): unknown {
  try {
    return parse(yamlText)
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unreadable'
    throw new DomainError('price_book_invalid', `${what} is not YAML: ${reason}`, { param: what })
  }
}

/** What came of a book that a person publishes. */
export interface WantedPublication {
  readonly publication: Publication
  /** Why nothing was published, though it could be: it has to be wanted expressly. */
  readonly asked: readonly string[]
  /** False also when exactly this book was published before. */
  readonly published: boolean
  readonly position: bigint | undefined
}

/**
 * Publishes a book by what a look at it showed: what takes prices away, or changes them at once or
 * never, only where that is wanted expressly.
 *
 * @throws DomainError those of the price-book decider, and the log's codes
 */
export async function publishIfWanted(
  deps: PublishDeps,
  input: {
    readonly book: PriceBookDocument
    /** What channels serve, undefined where they are not known. */
    readonly served: readonly ServedModel[] | undefined
    /** It is wanted whatever it changes. */
    readonly isConfirmed: boolean
    readonly correlationId: string
    readonly actor: string
  },
): Promise<WantedPublication> {
  const { book, served, isConfirmed, correlationId, actor } = input
  const publication = await lookAtPublication(deps, book, served)
  const asked = publication.published || isConfirmed ? [] : whyAsked(publication)
  if (asked.length > 0) return { publication, asked, published: false, position: undefined }
  const { basis } = publication
  const done = await publishBook(deps, { book, basis, correlationId, actor })
  return { publication, asked, published: done.published, position: done.position }
}
