import { readFile } from 'node:fs/promises'
import { listPriceBooks } from '../../projections/prices/query.ts'
import { publishPriceBook } from '../app/pricing/publish.ts'
import { systemClock } from '../kernel/clock.ts'
import { print, table, toJson } from './output.ts'
import type { Session } from './session.ts'

/** `tollgate prices publish`: the same book again changes nothing. */
export async function publishPricesCommand(
  { log, projected }: Session,
  file: string,
  options: { demonstrations?: boolean },
): Promise<void> {
  const book = await publishPriceBook(
    { log, clock: systemClock },
    {
      yamlText: await readFile(file, 'utf8'),
      demonstrations: options.demonstrations === true,
      correlationId: 'cli',
    },
  )
  print(`${book.version}: ${book.published ? 'published' : 'was published before'}`)
  await projected('prices', book.position)
}

/** `tollgate prices list`: newest first. */
export async function listPricesCommand(
  { pool }: Session,
  options: { json?: boolean },
): Promise<void> {
  const books = await listPriceBooks(pool)
  if (options.json) return print(toJson(books))
  const rows = books.map((b) => [b.version, b.effectiveFrom, b.publishedAt])
  for (const line of table(['version', 'effective from', 'published'], rows)) print(line)
}
