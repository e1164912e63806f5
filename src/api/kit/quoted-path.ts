import type { Principal } from '../../app/access/principal.ts'
import type { RequestQuote } from '../../app/finance/prices/request-quote.ts'
import type { JsonObject } from '../../kernel/json.ts'

/** How a surface lets its creations be priced without being made. */

/** A creation that is asked about. */
export interface AskedCreation {
  readonly principal: Principal
  /** Of the question; nothing is written under it. */
  readonly requestId: string
  /** What stands in the path for its `{…}`; empty where it has none. */
  readonly part: string
  readonly body: JsonObject
}

/** A path whose creations can be priced. */
export interface QuotedPath {
  /** As it is called, with at most one `{…}`. */
  readonly path: string
  /** Judges the body as the creation would, and prices it. @throws what the creation throws for its form */
  readonly quote: (asked: AskedCreation) => Promise<RequestQuote>
}

/** What `{…}` of a path stands for in another; undefined where that is not of it. */
export function partOf(pattern: string, path: string): string | undefined {
  const [before = '', after] = pattern.split(/\{\w+\}/)
  if (after === undefined) return path === pattern ? '' : undefined
  const part = path.slice(before.length, path.length - after.length)
  const isOf = path.startsWith(before) && path.endsWith(after) && part.length > 0
  return isOf && before.length + after.length < path.length && !/[/:]/.test(part) ? part : undefined
}
