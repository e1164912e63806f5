import type { PriceBookPublished, PriceEntry } from '../../src/domain/pricing/events.ts'
import type { Queryable } from '../engine/queryable.ts'

export { priceTables } from './projection.ts'

/** A published version with a look-up, which pricing uses as well. */
export interface PublishedPriceBook extends Readonly<PriceBookPublished> {
  /** Undefined where no publisher was named. */
  readonly publishedBy: string | undefined
  readonly position: bigint
  readonly lookup: (sku: string, currency: 'CNY' | 'USD') => PriceEntry | undefined
}

interface BookRecord {
  readonly version: string
  readonly effective_from: Date
  readonly published_at: Date
  readonly digest: string
  readonly published_by: string | null
  readonly position: string
}

const bookColumns = 'version, effective_from, published_at, digest, published_by, position'

async function withEntries(db: Queryable, book: BookRecord): Promise<PublishedPriceBook> {
  const { rows } = await db.query<
    Omit<PriceEntry, 'demonstration'> & { readonly demonstration: boolean | null }
  >({
    name: 'prices.entries',
    text: `select sku, currency, unit, trim_scale(price)::text as price, per, demonstration
           from prices.entries where version = $1 order by n`,
    values: [book.version],
  })
  const entries = rows.map(({ demonstration, ...entry }): PriceEntry =>
    demonstration === null ? entry : { ...entry, demonstration },
  )
  const bySku = new Map(entries.map((entry) => [`${entry.currency} ${entry.sku}`, entry]))
  return {
    version: book.version,
    effectiveFrom: book.effective_from.toISOString(),
    publishedAt: book.published_at.toISOString(),
    publishedBy: book.published_by ?? undefined,
    digest: book.digest,
    position: BigInt(book.position),
    entries,
    lookup: (sku, currency) => bySku.get(`${currency} ${sku}`),
  }
}

/**
 * The book in effect at a time: the latest that is effective by then, of equals the one published
 * last; undefined before any.
 */
export async function currentPriceBook(
  db: Queryable,
  atMs: number,
): Promise<PublishedPriceBook | undefined> {
  const { rows } = await db.query<BookRecord>({
    name: 'prices.current',
    text: `select ${bookColumns} from prices.books where effective_from <= $1
           order by effective_from desc, position desc limit 1`,
    values: [new Date(atMs)],
  })
  return rows[0] && withEntries(db, rows[0])
}

/** The book in effect at a time, if one is, and those that take effect later. */
export async function booksFrom(
  db: Queryable,
  atMs: number,
): Promise<readonly PublishedPriceBook[]> {
  const { rows } = await db.query<BookRecord>({
    name: 'prices.from',
    text: `select distinct on (effective_from) ${bookColumns} from prices.books
           where effective_from >= coalesce(
             (select max(effective_from) from prices.books where effective_from <= $1), $1)
           order by effective_from, position desc`,
    values: [new Date(atMs)],
  })
  return Promise.all(rows.map((row) => withEntries(db, row)))
}

/** A version by name; undefined if there is none. */
export async function priceBookVersion(
  db: Queryable,
  version: string,
): Promise<PublishedPriceBook | undefined> {
  const { rows } = await db.query<BookRecord>({
    name: 'prices.version',
    text: `select ${bookColumns} from prices.books where version = $1`,
    values: [version],
  })
  return rows[0] && withEntries(db, rows[0])
}

export interface ListedPriceBook extends Pick<
  PublishedPriceBook,
  'version' | 'effectiveFrom' | 'publishedAt' | 'publishedBy'
> {
  /** `replaced`: another is or will be in effect instead, whenever it began or begins. */
  readonly state: 'in_effect' | 'upcoming' | 'replaced'
  /** Number of its prices. */
  readonly prices: number
}

/**
 * Versions, the latest effective first, without their entries. Of those that begin at one time the one
 * published last counts.
 */
export async function listPriceBooks(
  db: Queryable,
  page: {
    /** Time for which the book in effect is marked; unix milliseconds, now by default. */
    readonly atMs?: number
    /** Version of the last one already seen. */
    readonly after?: string | undefined
    /** All by default. */
    readonly limit?: number
  } = {},
): Promise<readonly ListedPriceBook[]> {
  const { atMs, after, limit } = page
  const { rows } = await db.query<
    BookRecord & { readonly prices: number; readonly state: ListedPriceBook['state'] }
  >(
    `with known as (
       select ${bookColumns}, effective_from <= moment.at as has_begun,
              lag(effective_from) over latest is not distinct from effective_from as is_hidden,
              row_number() over (partition by effective_from <= moment.at
                                 order by effective_from desc, position desc) as nth
       from prices.books, (select coalesce($1::timestamptz, now()) as at) moment
       window latest as (order by effective_from desc, position desc)
     )
     select ${bookColumns},
            case when has_begun then case when nth = 1 then 'in_effect' else 'replaced' end
                 when is_hidden then 'replaced' else 'upcoming' end as state,
            (select count(*)::int from prices.entries e where e.version = k.version) as prices
     from known k
     where $2::text is null
        or (effective_from, position) < (select effective_from, position from prices.books where version = $2)
     order by effective_from desc, position desc limit $3`,
    [atMs === undefined ? null : new Date(atMs), after ?? null, limit ?? null],
  )
  return rows.map((row) => ({
    version: row.version,
    state: row.state,
    effectiveFrom: row.effective_from.toISOString(),
    publishedAt: row.published_at.toISOString(),
    publishedBy: row.published_by ?? undefined,
    prices: row.prices,
  }))
}

/** The publication of a price book. */
export interface PublishedBook {
  readonly version: string
  /** RFC 3339. */
  readonly effectiveFrom: string
  /** Unix milliseconds. */
  readonly publishedAtMs: number
  readonly publishedBy: string | null
  /** Decimal position in the log. */
  readonly position: string
  /** The version published before it; null: it is the first. */
  readonly before: string | null
}

/** Publications of price books, the newest first, behind a place `<Unix milliseconds>.<position>` in their list. */
export async function publishedBooks(
  db: Queryable,
  filter: {
    readonly actors: readonly string[] | undefined
    /** Unix milliseconds, inclusive and exclusive. */
    readonly fromMs: number | undefined
    readonly toMs: number | undefined
    readonly asOf: bigint
  },
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<readonly PublishedBook[]> {
  const time = (unixMs: number | undefined) => (unixMs === undefined ? null : new Date(unixMs))
  const [atMs, position] = after?.split('.') ?? []
  const { rows } = await db.query<BookRecord & { readonly before: string | null }>({
    name: 'prices.published',
    text: `select * from (
             select ${bookColumns}, lag(version) over (order by position) as before
             from prices.books where position <= $4::bigint) b
           where ($1::timestamptz is null or published_at >= $1)
             and ($2::timestamptz is null or published_at < $2)
             and ($3::text[] is null or published_by = any($3))
             and ($5::timestamptz is null or (published_at, position) < ($5, $6::bigint))
           order by published_at desc, position desc limit $7`,
    values: [
      time(filter.fromMs),
      time(filter.toMs),
      filter.actors ?? null,
      String(filter.asOf),
      time(atMs === undefined ? undefined : Number(atMs)),
      position ?? null,
      limit,
    ],
  })
  return rows.map((row) => ({
    version: row.version,
    effectiveFrom: row.effective_from.toISOString(),
    publishedAtMs: row.published_at.getTime(),
    publishedBy: row.published_by,
    position: row.position,
    before: row.before,
  }))
}

/** The price of a SKU in one book, for the time in which the book is in effect. */
export interface SkuPrice extends Pick<PriceEntry, 'sku' | 'currency' | 'unit' | 'price'> {
  readonly per: PriceEntry['per']
  readonly version: string
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number
  /** Unix milliseconds, exclusive; undefined: no book follows. */
  readonly untilMs: number | undefined
}

/** A SKU has its prices in so many books at most in one answer: the latest. */
const MAX_SKU_PRICES = 1_000

/**
 * The prices of a SKU in the books that are, were or will be in effect, by currency, oldest first. Of books that begin
 * at one time the one published last counts.
 */
export async function skuPrices(db: Queryable, sku: string): Promise<readonly SkuPrice[]> {
  const { rows } = await db.query<
    Omit<SkuPrice, 'fromMs' | 'untilMs'> & {
      readonly effective_from: Date
      readonly until: Date | null
    }
  >({
    name: 'prices.sku',
    text: `with counted as (
             select distinct on (effective_from) version, effective_from from prices.books
             order by effective_from, position desc),
           known as (
             select version, effective_from,
                    lead(effective_from) over (order by effective_from) as until
             from counted)
           select * from (
             select e.sku, e.currency, e.unit, trim_scale(e.price)::text as price, e.per, k.version,
                    k.effective_from, k.until
             from known k join prices.entries e on e.version = k.version and e.sku = $1
             order by k.effective_from desc limit $2) latest
           order by currency, effective_from`,
    values: [sku, MAX_SKU_PRICES],
  })
  return rows.map(({ effective_from: from, until, ...price }) => ({
    ...price,
    fromMs: from.getTime(),
    untilMs: until?.getTime(),
  }))
}
