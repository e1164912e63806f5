import { parse } from 'yaml'
import type { Catalog, ServedModel } from '../../../domain/catalog/catalog.ts'
import { type PriceBookPublished, priceBookStream } from '../../../domain/pricing/events.ts'
import { priceBookDecider } from '../../../domain/pricing/price-book-decider.ts'
import {
  type PriceBookDocument,
  priceBookFromDocument,
  withoutDemonstrations,
} from '../../../domain/pricing/price-book-document.ts'
import {
  type Publication,
  publicationOf,
  reasonsToConfirm,
} from '../../../domain/pricing/publication.ts'
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

/** A price book file, and whether its demonstration prices count. */
export interface PriceBookFile {
  readonly yamlText: string
  /** Whether to keep its demonstration prices, which only the sandbox may use. */
  readonly demonstrations: boolean
}

interface PublishedPriceBook {
  readonly version: string
  /** False when exactly this book was published before. */
  readonly published: boolean
  readonly position: bigint | undefined
}

interface PublishedBy {
  /** Revision that was read earlier: if another book was published since, nothing is published. */
  readonly basis?: number
  readonly correlationId: string
  /** The person or program that publishes. */
  readonly actor: string
}

/**
 * Publishes a price book file through the log; repeating the same book changes nothing.
 * @throws DomainError `price_book_invalid`, those of the price-book decider, and the log's codes
 */
export async function publishPriceBook(
  deps: PublishDeps,
  { yamlText, demonstrations, ...input }: PriceBookFile & PublishedBy,
): Promise<PublishedPriceBook> {
  return publishBook(deps, { ...input, book: bookOf(deps.catalog, { yamlText, demonstrations }) })
}

/** Publishes a parsed book in the same way. @throws as `publishPriceBook` */
export async function publishBook(
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
 * The changes that publishing a book would make, computed from the log.
 *
 * @param served what channels serve, undefined when it is not known
 * @throws DomainError `price_book_version_taken`, `price_book_replaced`
 */
export async function previewPublication(
  deps: PublishDeps,
  book: PriceBookDocument,
  served: readonly ServedModel[] | undefined,
): Promise<Publication> {
  return publicationOf(
    deps.catalog,
    book,
    await publishedBooks(deps.log),
    served,
    deps.clock.nowMs(),
  )
}

/** Every published book, in order, from the log. */
export async function publishedBooks(log: EventLog): Promise<readonly PriceBookPublished[]> {
  const events = await log.readStream(priceBookStream)
  return events.flatMap((event) => (event.type === 'PriceBookPublished' ? [event.data] : []))
}

type PriceUnits = Pick<Catalog, 'unitOf'>

/** Parses a price book file. @throws DomainError `price_book_invalid` */
export function bookOf(
  catalog: PriceUnits,
  { yamlText, demonstrations }: PriceBookFile,
): PriceBookDocument {
  return readBook(catalog, parsedYaml(yamlText, 'the price book'), demonstrations)
}

/**
 * Parses a document with its demonstration prices or not. @throws DomainError `price_book_invalid`
 */
export function readBook(
  { unitOf }: PriceUnits,
  document: unknown,
  demonstrations: boolean,
): PriceBookDocument {
  const whole = priceBookFromDocument(document, unitOf)
  return demonstrations ? whole : withoutDemonstrations(whole)
}

/** Parses YAML of prices. @throws DomainError `price_book_invalid`, naming `what` */
export function parsedYaml(yamlText: string, what: string): unknown {
  try {
    return parse(yamlText)
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unreadable'
    throw new DomainError('price_book_invalid', `${what} is not YAML: ${reason}`, { param: what })
  }
}

/** The outcome of a publication by a person. */
export interface ConfirmedPublication {
  readonly publication: Publication
  /** Why a valid book was not published: each reason must be confirmed. */
  readonly toConfirm: readonly string[]
  /** False also when exactly this book was published before. */
  readonly published: boolean
  readonly position: bigint | undefined
}

/**
 * Publishes a book unless its changes need a confirmation: a change that removes prices, takes effect at once,
 * or never does, must be confirmed.
 *
 * @throws DomainError those of the price-book decider, and the log's codes
 */
export async function publishIfConfirmed(
  deps: PublishDeps,
  input: {
    readonly book: PriceBookDocument
    /** Models that channels serve; undefined when unknown. */
    readonly served: readonly ServedModel[] | undefined
    /** Every change is confirmed. */
    readonly isConfirmed: boolean
    readonly correlationId: string
    readonly actor: string
  },
): Promise<ConfirmedPublication> {
  const { book, served, isConfirmed, correlationId, actor } = input
  const publication = await previewPublication(deps, book, served)
  const toConfirm = publication.published || isConfirmed ? [] : reasonsToConfirm(publication)
  if (toConfirm.length > 0) return { publication, toConfirm, published: false, position: undefined }
  const { basis } = publication
  const done = await publishBook(deps, { book, basis, correlationId, actor })
  return { publication, toConfirm, published: done.published, position: done.position }
}
