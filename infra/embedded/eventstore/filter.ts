/**
 * Filters of `$all` reads and subscriptions.
 */

import type streams from '@eventstore/db-client/generated/streams_pb.js'
import { invalidArgument } from './errors.ts'
import { DEFAULT_CHECKPOINT_WINDOW, MAX_FILTER_PREFIXES, MAX_FILTER_REGEX_CHARS } from './limits.ts'
import { recordStream, recordType } from './record.ts'

/** Events that a reader wants, and how many are considered for a page and between checkpoints. */
export interface Filter {
  readonly matches: (record: Buffer) => boolean
  readonly window: number
  readonly checkpointEvery: number
}

/** The filter a request names, or undefined for none. @throws {WireError} INVALID_ARGUMENT */
export function readFilter(options: streams.ReadReq.Options): Filter | undefined {
  const filter = options.getFilter()
  if (filter === undefined) return undefined
  const byStream = filter.getStreamIdentifier()
  const expression = byStream ?? filter.getEventType()
  if (expression === undefined) throw invalidArgument('the filter names no expression')
  const pick = byStream === undefined ? recordType : recordStream
  const window = filter.hasMax() ? filter.getMax() : DEFAULT_CHECKPOINT_WINDOW
  const multiplier = filter.getCheckpointintervalmultiplier()
  if (window < 1) throw invalidArgument('the filter window must be at least 1')
  const matches = matcher(expression)
  return {
    matches: (record) => matches(pick(record)),
    window,
    checkpointEvery: window * Math.max(multiplier, 1),
  }
}

function matcher(
  expression: streams.ReadReq.Options.FilterOptions.Expression,
): (text: Buffer) => boolean {
  const prefixes = expression.getPrefixList().map((prefix) => Buffer.from(prefix))
  if (prefixes.length > MAX_FILTER_PREFIXES) throw invalidArgument('too many filter prefixes')
  if (prefixes.length > 0) {
    return (text) => prefixes.some((prefix) => startsWith(text, prefix))
  }
  const source = expression.getRegex()
  if (source.length > MAX_FILTER_REGEX_CHARS) throw invalidArgument('the filter is too long')
  let regex: RegExp
  try {
    // No flags: escapes beyond need are allowed and characters are UTF-16 units, as in .NET.
    regex = new RegExp(source)
  } catch {
    throw invalidArgument(`the filter is not a regular expression: ${source}`)
  }
  return (text) => regex.test(text.toString())
}

function startsWith(text: Buffer, prefix: Buffer): boolean {
  return (
    text.length >= prefix.length && text.compare(prefix, 0, prefix.length, 0, prefix.length) === 0
  )
}
