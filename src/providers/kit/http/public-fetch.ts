import { Buffer } from 'node:buffer'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector, Client, type Dispatcher } from 'undici'
import { monotonicClock } from '../../../kernel/clock.ts'
import { FetchFault, type FetchBounds, type FetchPublic } from '../../../kernel/public-fetch.ts'
import { checkPublicUrl, RESOLVE_TIMEOUT_MS, type ResolveHost } from '../../../kernel/public-url.ts'
import { CONNECT_TIMEOUT_MS } from './exchange.ts'
import { headerOf } from './retry-after.ts'

const MAX_REDIRECTS = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const MAX_HEADER_BYTES = 16 * 1024
const HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'tollgate' }

export interface PublicFetchDeps {
  readonly resolveHost: ResolveHost
  /**
   * Where an address is found, after it was judged; itself on the internet. Tests put a server of
   * their own there, and judge all the same.
   */
  readonly locate?: (address: string) => string
}

/** Every fetch has a connection of its own: no later one may be led by what an earlier one found. */
export function createPublicFetch(deps: PublicFetchDeps): FetchPublic {
  return async (url, bounds) => {
    const endsAtMs = monotonicClock.nowMs() + bounds.timeoutMs
    const signal = AbortSignal.any([bounds.signal, AbortSignal.timeout(bounds.timeoutMs)])
    let target = url
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      const place = await placeOf(deps, target, bounds, endsAtMs - monotonicClock.nowMs())
      const found = await visit(place, bounds, signal)
      if (found instanceof Uint8Array) return found
      target = found.location
    }
    throw new FetchFault('unreachable', `is redirected more than ${MAX_REDIRECTS} times`)
  }
}

/** Where a connection goes. */
interface Place {
  readonly url: URL
  /** Undefined: wherever its host resolves to. */
  readonly addresses: readonly string[] | undefined
}

async function placeOf(
  { resolveHost, locate = (address) => address }: PublicFetchDeps,
  target: string,
  { trustedOrigin, signal }: FetchBounds,
  leftMs: number,
): Promise<Place> {
  if (trustedOrigin !== undefined && originOf(target) === trustedOrigin)
    return { url: new URL(target), addresses: undefined }
  const timeoutMs = Math.min(leftMs, RESOLVE_TIMEOUT_MS)
  const verdict = await checkPublicUrl(target, resolveHost, { use: 'fetch', timeoutMs })
  if (signal.aborted) throw new FetchFault('aborted', 'was not waited for', signal.reason)
  if (!verdict.ok) throw new FetchFault('not_public', verdict.reason)
  return { url: new URL(verdict.url), addresses: verdict.addresses.map(locate) }
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}

/** Answers the addresses that were judged, whatever the name resolves to by now. */
function fixedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, { all: wantsAll }, done) => {
    const [first] = all
    if (wantsAll === true) done(null, all)
    else done(null, first?.address ?? '', first?.family)
  }
}

async function visit(
  { url, addresses }: Place,
  { maxBytes, signal: caller }: FetchBounds,
  signal: AbortSignal,
): Promise<Uint8Array | { readonly location: string }> {
  const client = new Client(url.origin, {
    connect: buildConnector({
      timeout: CONNECT_TIMEOUT_MS,
      autoSelectFamily: true,
      ...(addresses === undefined ? {} : { lookup: fixedLookup(addresses) }),
    }),
    maxHeaderSize: MAX_HEADER_BYTES,
    // The one deadline of a fetch is its own.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  try {
    const path = `${url.pathname}${url.search}`
    const answer = await client.request({ method: 'GET', path, headers: HEADERS, signal })
    const location = headerOf(answer.headers, 'location')
    if (REDIRECTS.has(answer.statusCode) && location !== undefined) {
      if (!URL.canParse(location, url.href))
        throw new FetchFault('unreachable', 'is redirected nowhere')
      return { location: new URL(location, url.href).href }
    }
    if (answer.statusCode !== 200)
      throw new FetchFault('unreachable', `answers with the status ${answer.statusCode}`)
    return await bodyOf(answer, maxBytes)
  } catch (error) {
    if (error instanceof FetchFault) throw error
    if (caller.aborted) throw new FetchFault('aborted', 'was not waited for', error)
    if (signal.aborted) throw new FetchFault('timeout', 'did not come in time', error)
    throw new FetchFault('unreachable', 'cannot be reached', error)
  } finally {
    // Whatever more is coming, such as a body that never ends, is cut off here.
    await client.destroy()
  }
}

async function bodyOf(
  { headers, body }: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<Uint8Array> {
  const tooLarge = (): FetchFault => new FetchFault('too_large', `is larger than ${maxBytes} bytes`)
  if (Number(headerOf(headers, 'content-length') ?? 0) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length
    if (sizeBytes > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
