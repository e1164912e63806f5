import { Buffer } from 'node:buffer'
import { buildConnector, Client, type Dispatcher } from 'undici'
import { monotonicClock } from '../../../kernel/clock.ts'
import {
  bodyHeaders,
  type FetchBounds,
  FetchFault,
  type FetchPublic,
  type OpenPublic,
  type PostPublic,
} from '../../../kernel/public-fetch.ts'
import { checkPublicUrl, RESOLVE_TIMEOUT_MS, type ResolveHost } from '../../../kernel/public-url.ts'
import { fixedLookup } from '../../../platform/resolve-host.ts'
import { isTrustedTarget, type TrustedTarget } from '../../../kernel/trusted-targets.ts'
import { CONNECT_TIMEOUT_MS } from './kept-connections.ts'
import { headerOf } from './refusals.ts'

const MAX_REDIRECTS = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const MAX_HEADER_BYTES = 16 * 1024
const HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'tollgate' }

export interface PublicFetchDeps {
  readonly resolveHost: ResolveHost
  /**
   * Maps a checked address to the one to connect to; by default itself. Tests map it to their own
   * server and keep the check.
   */
  readonly locate?: (address: string) => string
}

/**
 * Every fetch has its own connection: a later one must not reuse an address that an earlier one
 * resolved.
 */
export function createPublicFetch(deps: PublicFetchDeps): FetchPublic {
  return async (url, bounds) => {
    const signal = AbortSignal.any([bounds.signal, AbortSignal.timeout(bounds.timeoutMs)])
    const { client, answer } = await follow(deps, url, { ...bounds, deadline: signal })
    try {
      if (answer.statusCode !== 200)
        throw new FetchFault('unreachable', `answers with the status ${answer.statusCode}`)
      return await bodyOf(answer, bounds.maxBytes)
    } catch (error) {
      throw faultOf(error, bounds.signal, signal)
    } finally {
      // Everything after this, such as an endless body, is cut off.
      await client.destroy()
    }
  }
}

/** Opens a URL as a stream: its connection ends with its body. */
export function createOpenPublic(deps: PublicFetchDeps): OpenPublic {
  return async (url, { range, signal, firstByteTimeoutMs, idleTimeoutMs, trustedOrigin }) => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), firstByteTimeoutMs)
    const deadline = AbortSignal.any([signal, late.signal])
    try {
      const { client, answer } = await follow(deps, url, {
        signal,
        timeoutMs: firstByteTimeoutMs,
        deadline,
        idleTimeoutMs,
        ...(range === undefined ? {} : { headers: { range } }),
        ...(trustedOrigin === undefined ? {} : { trustedOrigin }),
      })
      // An answer that the caller abandons may fail without a listener.
      answer.body.on('error', () => undefined).once('close', () => void client.destroy())
      const said = bodyHeaders.flatMap((name) => {
        const value = headerOf(answer.headers, name)
        return value === undefined ? [] : [[name, value] as const]
      })
      return { status: answer.statusCode, headers: Object.fromEntries(said), body: answer.body }
    } finally {
      clearTimeout(timer)
    }
  }
}

interface VisitOptions extends Pick<FetchBounds, 'timeoutMs' | 'signal' | 'trustedOrigin'> {
  /** The caller's signal and the bound on time together. */
  readonly deadline: AbortSignal
  /** Options in addition to those of every fetch. */
  readonly headers?: Readonly<Record<string, string>>
  /** Longest silence within the body; absent: only the deadline bounds it. */
  readonly idleTimeoutMs?: number
}

interface Visited {
  readonly client: Client
  readonly answer: Dispatcher.ResponseData
}

/** Follows a URL and its redirects; the caller closes the connection. */
async function follow(deps: PublicFetchDeps, url: string, options: VisitOptions): Promise<Visited> {
  const endsAtMs = monotonicClock.nowMs() + options.timeoutMs
  let target = url
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const place = await fetchTargetOf(deps, target, options, endsAtMs - monotonicClock.nowMs())
    const found = await visit(place, options)
    if ('answer' in found) return found
    target = found.location
  }
  throw new FetchFault('unreachable', `is redirected more than ${MAX_REDIRECTS} times`)
}

/** Where a connection goes. */
interface FetchTarget {
  readonly url: URL
  /** Undefined: wherever its host resolves to. */
  readonly addresses: readonly string[] | undefined
}

async function fetchTargetOf(
  { resolveHost, locate = (address) => address }: PublicFetchDeps,
  target: string,
  { trustedOrigin, signal }: VisitOptions,
  leftMs: number,
): Promise<FetchTarget> {
  if (trustedOrigin !== undefined && originOf(target) === trustedOrigin)
    return { url: new URL(target), addresses: undefined }
  const timeoutMs = Math.min(leftMs, RESOLVE_TIMEOUT_MS)
  const verdict = await checkPublicUrl(target, resolveHost, { use: 'fetch', timeoutMs })
  if (signal.aborted) throw new FetchFault('aborted', 'was aborted', signal.reason)
  if (!verdict.ok) throw new FetchFault('not_public', verdict.reason)
  return { url: new URL(verdict.url), addresses: verdict.addresses.map(locate) }
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}

async function visit(
  { url, addresses }: FetchTarget,
  { signal, deadline, headers, idleTimeoutMs = 0 }: VisitOptions,
): Promise<Visited | { readonly location: string }> {
  const client = new Client(url.origin, {
    connect: buildConnector({
      timeout: CONNECT_TIMEOUT_MS,
      autoSelectFamily: true,
      ...(addresses === undefined ? {} : { lookup: fixedLookup(addresses) }),
    }),
    maxHeaderSize: MAX_HEADER_BYTES,
    // The fetch has its own deadline.
    headersTimeout: 0,
    bodyTimeout: idleTimeoutMs,
  })
  let isHandedOn = false
  try {
    const path = `${url.pathname}${url.search}`
    const sent = { ...HEADERS, ...headers }
    const answer = await client.request({ method: 'GET', path, headers: sent, signal: deadline })
    const location = headerOf(answer.headers, 'location')
    if (!REDIRECTS.has(answer.statusCode) || location === undefined) {
      isHandedOn = true
      return { client, answer }
    }
    if (!URL.canParse(location, url.href))
      throw new FetchFault('unreachable', 'has a redirect without a target')
    return { location: new URL(location, url.href).href }
  } catch (error) {
    throw faultOf(error, signal, deadline)
  } finally {
    if (!isHandedOn) await client.destroy()
  }
}

function faultOf(error: unknown, caller: AbortSignal, deadline: AbortSignal): FetchFault {
  if (error instanceof FetchFault) return error
  if (caller.aborted) return new FetchFault('aborted', 'was aborted', error)
  if (deadline.aborted) return new FetchFault('timeout', 'did not come in time', error)
  return new FetchFault('unreachable', 'cannot be reached', error)
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

interface PostOutDeps extends PublicFetchDeps {
  /** Targets that may be connected to unchecked. */
  readonly trustedTargets?: readonly TrustedTarget[]
}

/** Every message has its own connection, which ends with the status. */
export function createPostOut({
  resolveHost,
  locate = (address) => address,
  trustedTargets = [],
}: PostOutDeps): PostPublic {
  return async (target, { tenantId, headers, body, timeoutMs, signal }) => {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const isTrusted = isTrustedTarget(trustedTargets, tenantId, target)
    const verdict = isTrusted ? undefined : await checkPublicUrl(target, resolveHost)
    if (verdict?.ok === false) throw new FetchFault('not_public', verdict.reason)
    const url = new URL(verdict?.url ?? target)
    const lookup = verdict && { lookup: fixedLookup(verdict.addresses.map(locate)) }
    const client = new Client(url.origin, {
      connect: buildConnector({ timeout: CONNECT_TIMEOUT_MS, autoSelectFamily: true, ...lookup }),
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: 0,
    })
    try {
      const path = `${url.pathname}${url.search}`
      const sent = { 'user-agent': 'tollgate', ...headers }
      const answer = await client.request({
        method: 'POST',
        path,
        headers: sent,
        body,
        signal: deadline,
      })
      // The body is not read.
      answer.body.on('error', () => undefined)
      return answer.statusCode
    } catch (error) {
      throw faultOf(error, signal, deadline)
    } finally {
      await client.destroy()
    }
  }
}
