import type { Answer, Call } from '../caller.ts'

/** How callers ask the asset library, and what their addresses tell the simulated one. */

const VERSION = '2024-01-01'
/** Public without being looked up; nothing ever goes there. */
const NOWHERE = 'https://93.184.216.34'

type Fields = Readonly<Record<string, unknown>>

/** Asks for an action; undefined when there was no answer. */
export function act(call: Call, action: string, body: Fields): Promise<Answer | undefined> {
  return call(action, 'POST', `/provA/?Action=${action}&Version=${VERSION}`, { body })
}

/** What stands in `Result`; empty where an answer has none. */
export function resultOf({ body }: Answer): Fields {
  return (body['Result'] ?? {}) as Fields
}

/** An address that says how what is asked for with it goes, and what a test calls it. */
export function addressWith(switches: readonly string[], marker?: string): string {
  const client = marker === undefined ? '' : `[[client=${marker}]]`
  const words = switches.length === 0 ? '' : `[[sandbox ${switches.join(' ')}]]`
  return `${NOWHERE}/${encodeURIComponent(`${client}${words}`)}a`
}
