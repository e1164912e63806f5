import type { ServedModel } from '../../../domain/catalog/catalog.ts'
import type { PriceBookDocument } from '../../../domain/pricing/price-book-document.ts'
import { type Publication, whyAsked } from '../../../domain/pricing/publication.ts'
import { lookAtPublication, publishBook, type PublishDeps } from './publish.ts'

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
