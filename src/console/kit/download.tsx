import type { JSX } from 'preact'
import { fileHref } from './href.ts'

/** Links to the rows of a page as files, which have all rows of its filter as of its position. */

/** The formats of files, in the words of people. */
const formatNames = { csv: 'CSV', ndjson: 'NDJSON', focus: 'FOCUS', parquet: 'Parquet' } as const
export type FileFormat = keyof typeof formatNames

/** The formats of a table. */
export const tableFormats = ['csv', 'ndjson'] as const

export function Download({
  page,
  query,
  formats = tableFormats,
  asOf,
  from,
  token = 'query',
}: {
  /** The address of the page, without its query. */
  readonly page: string
  /** The filter of the page, with absolute times. */
  readonly query: Readonly<Record<string, string | number | undefined>>
  readonly formats?: readonly FileFormat[]
  /** Position of the log; undefined where the rows have none. */
  readonly asOf?: string | undefined
  /** The route of the API that answers the same with a query token. */
  readonly from: string
  /** The kind of token that the route answers to. */
  readonly token?: 'query' | 'admin'
}): JSX.Element {
  const ofApi = `${from}${from.includes('?') ? '&' : '?'}format=csv`
  return (
    <div class="download">
      <p>
        <span class="note">Download all of it:</span>
        {formats.map((format) => (
          <a key={format} href={fileHref(page, { ...query, as_of: asOf, format })}>
            {formatNames[format]}
          </a>
        ))}
      </p>
      <p class="note">
        {asOf === undefined ? null : <>As of position {asOf} of the log. </>}
        With {token === 'admin' ? 'an admin' : 'a query'} token: <code>GET {ofApi}</code>
      </p>
    </div>
  )
}
