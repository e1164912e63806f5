/**
 * Stream metadata: the `$$name` streams, of which this store honours truncation.
 */

import { SOFT_DELETED } from './heads.ts'
import { LogError, type ProposedEvent } from './types.ts'

const PREFIX = '$$'
const UNSUPPORTED = ['$maxAge', '$maxCount', '$acl'] as const

export function metadataStreamOf(stream: string): string {
  return PREFIX + stream
}

/** The stream that a metadata stream describes, or undefined for any other stream. */
export function originalStreamOf(stream: string): string | undefined {
  return stream.startsWith(PREFIX) ? stream.slice(PREFIX.length) : undefined
}

/** First revision left visible by a metadata document. */
export function truncationOf(data: Uint8Array): number {
  const value = parse(data)['$tb']
  if (typeof value !== 'number' || !(value > 0)) return 0
  // The "deleted" mark is 2^63 - 1, which as a double is 2^63.
  return value >= SOFT_DELETED ? SOFT_DELETED : Math.floor(value)
}

/**
 * Refuses metadata whose promise this store would not keep: retention and access lists.
 * @throws {LogError} `unsupported`
 */
export function checkMetadata(stream: string, events: readonly ProposedEvent[]): void {
  if (originalStreamOf(stream) === undefined) return
  for (const event of events) {
    const document = parse(event.data)
    for (const key of UNSUPPORTED) {
      if (key in document) {
        throw new LogError('unsupported', `stream metadata ${key}`)
      }
    }
  }
}

function parse(data: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(data).toString())
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
