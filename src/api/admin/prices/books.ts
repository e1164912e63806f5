import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { ListedPriceBook, PublishedPriceBook } from '../../../../projections/prices/query.ts'
import type { AdminScope } from '../../../app/accounts/admin-scope.ts'
import type { ManagedPriceBooks } from '../../../app/finance/prices/managed-price-books.ts'
import { some } from '../../../app/finance/prices/price-book.ts'
import type { ConfirmedPublication } from '../../../app/finance/prices/publish.ts'
import type { PriceEntry } from '../../../domain/pricing/events.ts'
import type { PriceBookDifference } from '../../../domain/pricing/price-book-difference.ts'
import type { Publication } from '../../../domain/pricing/publication.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { actorOf, success } from '../../kit/routes/account-surface.ts'
import { changeFailures, accountReadFailures } from '../../kit/failures/route-failures.ts'
import type { Services } from '../../kit/services.ts'
import { inFileName } from '../../kit/answers/files.ts'
import { fileMembers, sendList, wholeRows } from '../../kit/answers/lists.ts'
import { describeAdmin, adminScopeOf } from '../envelope.ts'
import { type ListQuery, ListQuerySchema, listOf } from '../lists.ts'
import {
  BookAnswerSchema,
  BookParamsSchema,
  BooksAnswerSchema,
  DifferenceAnswerSchema,
  DifferenceQuerySchema,
  NewBookSchema,
  NoParametersSchema,
  PRICES_LIMIT_BYTES,
  PublicationAnswerSchema,
} from './schemas.ts'

const operatorReads = [...accountReadFailures, 'scope_denied'] as const

/** Routes of price books: an operator reads and publishes them. */
export function priceBookRoutes(
  instance: FastifyInstance,
  { priceBooks: books }: Pick<Services['accounts'], 'priceBooks'>,
): void {
  readRoutes(instance, books)
  differenceRoute(instance, books)
  publishRoute(instance, books)
}

const bookColumns = [
  'version',
  'state',
  'effective_from',
  'published_at',
  'published_by',
  'price_count',
] as const

/** Price books, the latest start first. @throws DomainError */
export function readBooks(books: ManagedPriceBooks, scope: AdminScope, query: ListQuery) {
  const list = listOf(
    ['price books', scope],
    query,
    (page) => books.list(scope, page),
    ({ version }) => version,
    toListedBook,
  )
  return { name: 'price-books', columns: bookColumns, ...list }
}

const priceColumns = ['sku', 'currency', 'unit', 'per', 'price', 'demonstration'] as const

/** A price book with its prices, whose file has the prices. @throws DomainError `price_book_not_found` */
export async function readBook(books: ManagedPriceBooks, scope: AdminScope, version: string) {
  const book = toBook(await books.find(scope, version))
  return {
    name: `price-book_${inFileName(version)}`,
    columns: priceColumns,
    page: () => Promise.resolve(book),
    rows: wholeRows(
      book.prices.map((price) => ({ ...price, demonstration: price.demonstration === true })),
    ),
  }
}

/** The changes from one price book to another. @throws DomainError `price_book_not_found` */
export async function readDifference(
  books: ManagedPriceBooks,
  scope: AdminScope,
  named: { readonly version: string; readonly against: string },
) {
  const found = await books.difference(scope, named)
  return { object: 'price_book_difference' as const, ...named, ...toDifference(found) }
}

function readRoutes(instance: FastifyInstance, books: ManagedPriceBooks): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const list = describeAdmin({
    operationId: 'listPriceBooks',
    summary: 'List price books (operators only)',
    ok: BooksAnswerSchema,
    failures: [...operatorReads, 'invalid_cursor'],
    csv: true,
  })
  app.get('/price-books', {
    config: { roles: ['finance'] },
    schema: { ...list, querystring: ListQuerySchema },
    handler: (request, reply) => {
      const { query } = request
      return sendList(request, reply, query, readBooks(books, adminScopeOf(request), query))
    },
  })
  const one = describeAdmin({
    operationId: 'getPriceBook',
    summary: 'Get a price book with its prices (operators only)',
    ok: BookAnswerSchema,
    failures: [...operatorReads, 'price_book_not_found'],
    csv: true,
  })
  app.get('/price-books/:version', {
    config: { roles: ['finance'] },
    schema: { ...one, params: BookParamsSchema, querystring: Type.Object(fileMembers) },
    handler: async (request, reply) => {
      const list = await readBook(books, adminScopeOf(request), request.params.version)
      return sendList(request, reply, request.query, list)
    },
  })
}

function differenceRoute(instance: FastifyInstance, books: ManagedPriceBooks): void {
  const schema = describeAdmin({
    operationId: 'comparePriceBooks',
    summary: 'Compare two price books (operators only)',
    ok: DifferenceAnswerSchema,
    failures: [...operatorReads, 'price_book_not_found'],
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().get('/price-books/:version/diff', {
    config: { roles: ['finance'] },
    schema: { ...schema, params: BookParamsSchema, querystring: DifferenceQuerySchema },
    handler: async (request) => {
      const named = { version: request.params.version, against: request.query.against }
      return success(await readDifference(books, adminScopeOf(request), named))
    },
  })
}

function publishRoute(instance: FastifyInstance, books: ManagedPriceBooks): void {
  const schema = describeAdmin({
    operationId: 'publishPriceBook',
    summary:
      'Publish a price book (operators only); publishing the same book again changes nothing',
    ok: PublicationAnswerSchema,
    failures: [
      ...changeFailures,
      'body_empty',
      'price_book_invalid',
      'price_book_version_taken',
      'price_book_replaced',
      'price_books_changed',
      'confirmation_required',
      'append_too_large',
    ],
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/price-books', {
    bodyLimit: PRICES_LIMIT_BYTES,
    schema: { ...schema, querystring: NoParametersSchema, body: NewBookSchema },
    handler: async (request) => {
      const { confirm = false, demonstrations = false, ...document } = request.body
      const outcome = await books.publish(adminScopeOf(request), actorOf(request), {
        document,
        demonstrations,
        isConfirmed: confirm,
      })
      if (outcome.toConfirm.length > 0) throw unconfirmed(outcome)
      return success(toPublication(outcome.publication, outcome.published))
    },
  })
}

/** Lists the changes for the operator to confirm. */
function unconfirmed({ publication, toConfirm }: ConfirmedPublication): DomainError {
  const { removed, changed, added } = publication.difference
  const nameOf = ({ sku, currency }: PriceEntry): string => `${sku} ${currency}`
  const namesOf = (word: string, names: readonly string[]): readonly string[] =>
    names.length === 0 ? [] : [`${word}: ${some(names)}`]
  const changes = [
    ...namesOf('Removed', removed.map(nameOf)),
    ...namesOf(
      'Changed',
      changed.map(({ before, after, percent }) => {
        const by = percent === undefined ? '' : ` (${percent} %)`
        return `${nameOf(after)} from ${before.price} to ${after.price}${by}`
      }),
    ),
    ...namesOf('Added', added.map(nameOf)),
  ]
  return new DomainError(
    'confirmation_required',
    `Nothing was published: ${toConfirm.join('; ')}. ${changes.map((text) => `${text}. `).join('')}Send "confirm": true to publish it`,
    { param: 'confirm' },
  )
}

const toHead = ({
  version,
  effectiveFrom,
  publishedAt,
  publishedBy,
}: Pick<PublishedPriceBook, 'version' | 'effectiveFrom' | 'publishedAt' | 'publishedBy'>) => ({
  object: 'price_book' as const,
  version,
  effective_from: effectiveFrom,
  published_at: publishedAt,
  published_by: publishedBy ?? null,
})

function toListedBook(book: ListedPriceBook) {
  return { ...toHead(book), state: book.state, price_count: book.prices }
}

function toBook(book: PublishedPriceBook) {
  return { ...toHead(book), prices: [...book.entries] }
}

function toDifference({ added, removed, changed, unchanged }: PriceBookDifference) {
  return {
    added: [...added],
    removed: [...removed],
    changed: changed.map(({ before, after, percent = null }) => ({ before, after, percent })),
    unchanged,
  }
}

function toPublication(publication: Publication, published: boolean) {
  const {
    version,
    effectiveFrom,
    takesEffect,
    replaces,
    difference,
    unpriced = [],
    unsold,
  } = publication
  return {
    object: 'price_book_publication' as const,
    version,
    effective_from: effectiveFrom,
    changed: published,
    takes_effect: takesEffect,
    replaces: replaces ?? null,
    difference: toDifference(difference),
    unpriced: unpriced.map(({ model, skus, soldNow }) => ({
      model,
      skus: [...skus],
      sold_now: soldNow,
    })),
    unsold: unsold.map(({ sku, meant = null }) => ({ sku, meant })),
  }
}
