import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { RequestError } from '../request-error.ts'

/**
 * Headers that a request may have once. Of two, Node keeps the first without a word or joins them,
 * while a proxy may have read the second.
 */
const ONCE = [
  'Host',
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'X-Native-Api-Key',
  'X-Goog-Api-Key',
  'X-Tollgate-Tags',
  'X-Tollgate-End-User',
] as const
type Once = (typeof ONCE)[number]

interface OnceHeader {
  readonly name: Once
  readonly lower: string
  readonly bit: number
}

/** Names by their length, which is compared first because that is cheapest. */
const onceByLength: (readonly OnceHeader[] | undefined)[] = []
for (const [index, name] of ONCE.entries())
  onceByLength[name.length] = [
    ...(onceByLength[name.length] ?? []),
    { name, lower: name.toLowerCase(), bit: 1 << index },
  ]

/** The first of those headers that is there twice. */
function repeatedHeader(rawHeaders: readonly string[]): Once | undefined {
  // A bit for each: this runs for every request.
  let found = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? ''
    const named = onceByLength[given.length]
    if (named === undefined) continue
    const lower = given.toLowerCase()
    for (const once of named) {
      if (once.lower !== lower) continue
      if ((found & once.bit) !== 0) return once.name
      found |= once.bit
    }
  }
  return undefined
}

/** Describes the first forbidden or repeated header of a request; undefined if there is none. */
function faultOf({ rawHeaders, headers, httpVersion }: IncomingMessage): RequestError | undefined {
  const repeated = repeatedHeader(rawHeaders)
  if (repeated !== undefined)
    return new RequestError('parameter_invalid', `${repeated} must be sent once`, repeated)
  if (headers.host === undefined && httpVersion === '1.1')
    return new RequestError('parameter_invalid', 'Host is required', 'Host')
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    return new RequestError('parameter_invalid', 'Expect may only be 100-continue', 'Expect')
  return undefined
}

/** For the options of Node's server: it would refuse a request without `Host` with an empty answer. */
export const withoutHostCheck = { requireHostHeader: false } as const

/**
 * Reads all headers of a request, and refuses those that are ambiguous or cannot be met in the shape
 * of their surface.
 */
export function useWholeHeads(app: FastifyInstance): void {
  // By default Node drops headers after the thousandth; the bound on their bytes is enough.
  app.server.maxHeadersCount = 0
  // By default Node answers these itself, with an empty 417.
  app.server.on('checkExpectation', (request, answer) =>
    app.server.emit('request', request, answer),
  )
  app.addHook('onRequest', (request, _reply, done) => {
    done(faultOf(request.raw))
  })
}
