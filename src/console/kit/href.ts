/** Addresses of the console: each is written by one function, since markup would let `javascript:` through. */

type Query = Readonly<Record<string, string | number | undefined>>

/** A path with its query; members that are undefined or empty are left out. */
function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as [string, string]],
  )
  const text = new URLSearchParams(given).toString()
  return text === '' ? path : `${path}?${text}`
}

/** A page of the console. */
export function hrefOf(path: string, query: Query = {}): string {
  return withQuery(`/console${path}`, query)
}

/** A route of the query API, which answers the figures of a page. */
export function apiPath(path: string, query: Query = {}): string {
  return withQuery(`/api/query/v1${path}`, query)
}

/** A route of the administration, which answers to admin tokens. */
export function adminPath(path: string, query: Query = {}): string {
  return withQuery(`/api/admin${path}`, query)
}

/** The page of a line of the ledger. */
export function lineHref(id: string, query: Query = {}): string {
  return hrefOf(`/ledger/lines/${encodeURIComponent(id)}`, query)
}

/** The page of a price book. */
export function bookHref(version: string, query: Query = {}): string {
  return hrefOf(`/prices/${encodeURIComponent(version)}`, query)
}

export function lifeHref(id: string, query: Query = {}): string {
  return hrefOf(`/life/${encodeURIComponent(id)}`, query)
}

/**
 * The place to go on to after signing in: a path of the console in characters that a header can hold,
 * else its first page.
 */
export function nextPlace(asked: string | undefined): string {
  const isOwn = asked !== undefined && /^\/console(?:[/?][!-[\]-~]*)?$/.test(asked)
  return isOwn ? asked : '/console'
}
