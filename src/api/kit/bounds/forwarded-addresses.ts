import { isIP } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * The addresses of `X-Forwarded-For`, from which Fastify takes the caller's behind a trusted proxy. Some clouds write
 * a port behind each, and brackets around IPv6: `203.0.113.7:51234`, `[2001:db8::1]:443`. Fastify takes an entry as it
 * stands, so a port made another address of each connection, and none within a range.
 *
 * @see docs/operations.md
 */

const HEADER = 'x-forwarded-for'

/** The address of an entry without port and brackets; undefined for text that is no address. */
function addressOf(entry: string): string | undefined {
  if (isIP(entry) !== 0) return entry
  // A URL takes a single number for an address too; a proxy does not write one so.
  if (!/^(?:[\d.]+|\[[\da-f:.]+\])(?::\d+)?$/i.test(entry) || !URL.canParse(`http://${entry}`))
    return undefined
  const { hostname } = new URL(`http://${entry}`)
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return entry.startsWith(hostname) ? hostname : undefined
}

/**
 * The header with bare addresses. An entry that is no address counts as the proxy that wrote it; no proxy vouches for what
 * stands before it, which is left out.
 */
export function bareAddresses(header: string, proxy: string): string {
  const found: string[] = []
  let writer = proxy
  for (const entry of header.split(',').toReversed()) {
    const text = entry.trim()
    if (text === '') continue
    const address = addressOf(text)
    found.unshift(address ?? writer)
    if (address === undefined) break
    writer = address
  }
  return found.join(', ')
}

/** Before anything asks for the address of a caller. */
export function useForwardedAddresses(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers, socket } = request.raw
    const header = headers[HEADER]
    if (typeof header === 'string')
      headers[HEADER] = bareAddresses(header, socket.remoteAddress ?? '')
    done()
  })
}
