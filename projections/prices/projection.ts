import type { PoolClient } from 'pg'
import { priceBookEvents, type PriceBookEvent } from '../../src/domain/pricing/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { plainColumn, storable, textColumn } from '../engine/columns.ts'
import { digestTables, namedTotals } from '../engine/digest.ts'
import type { Projection } from '../engine/types.ts'

const tablesSql = `
  create table books (
    version text primary key,
    effective_from timestamptz not null,
    published_at timestamptz not null,
    digest text not null,
    published_by text,
    position bigint not null
  );
  create index books_effective on books (effective_from, position);

  create table entries (
    version text not null references books,
    n int not null,
    sku text not null,
    currency text not null,
    unit text not null,
    price numeric(38, 12) not null,
    per int not null,
    demonstration boolean,
    primary key (version, n)
  );
  create index entries_sku on entries (sku, currency);
`

const handles = new Set(Object.keys(priceBookEvents) as (keyof typeof priceBookEvents)[])

async function publish(
  client: PoolClient,
  { data, metadata, position }: RecordedEvent<PriceBookEvent>,
): Promise<void> {
  const { version, effectiveFrom, publishedAt, digest, entries } = data
  await client.query(
    `insert into books (version, effective_from, published_at, digest, published_by, position)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      version,
      effectiveFrom,
      publishedAt,
      digest,
      metadata.actor === undefined ? null : storable(metadata.actor),
      position,
    ],
  )
  await client.query(
    `insert into entries (version, n, sku, currency, unit, price, per, demonstration)
     select $1, * from unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::numeric[],
                              $7::int[], $8::boolean[])`,
    [
      version,
      plainColumn(entries.map((_, n) => n)),
      textColumn(entries.map(({ sku }) => sku)),
      textColumn(entries.map(({ currency }) => currency)),
      textColumn(entries.map(({ unit }) => unit)),
      textColumn(entries.map(({ price }) => price)),
      plainColumn(entries.map(({ per }) => per)),
      plainColumn(entries.map(({ demonstration }) => demonstration)),
    ],
  )
}

/** Every published version of the price book with its entries. */
export const pricesProjection: Projection = {
  name: 'prices',
  version: 2,
  tablesSql,
  handles,
  apply: async (client, batch) => {
    for (const event of batch) if (event.type === 'PriceBookPublished') await publish(client, event)
  },
  digest: async (client) => ({
    ...(await digestTables(client, {
      books: 'select * from books',
      entries: 'select * from entries',
    })),
    totals: await namedTotals(
      client,
      `select 'versions' as name, count(*)::text as total from books
       union all select 'entries', count(*)::text from entries`,
    ),
  }),
}
