import ipaddr from 'ipaddr.js'
import { isIP } from 'node:net'
import { withTimeout } from './pause.ts'
import { parseAddress } from './network-address.ts'

/** Resolves all addresses of a host; rejects when it has none or they cannot be resolved. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

type PublicUrlVerdict =
  | {
      readonly ok: true
      readonly url: string
      /**
       * The addresses, all public. Connect to one of them, so that the connection goes to a checked
       * address.
       */
      readonly addresses: readonly string[]
    }
  | { readonly ok: false; readonly reason: string }

/** Longest URL that is considered. */
const MAX_URL_CHARACTERS = 2048
/** Maximum time for resolving a host before it counts as not resolvable. */
export const RESOLVE_TIMEOUT_MS = 3_000
/** A host with more addresses than this is refused unchecked. */
const MAX_ADDRESSES = 64

async function addressesOf(
  hostname: string,
  resolve: ResolveHost,
  timeoutMs: number,
): Promise<readonly string[]> {
  return await withTimeout(timeoutMs, resolve(hostname), () => {
    throw new Error('resolving took too long')
  })
}

/** The gateway fetches from `http:` as well, but calls only `https:`. */
export type UrlUse = 'call' | 'fetch'

const AUTHORITY: Readonly<Record<UrlUse, RegExp>> = {
  call: /^https:\/\/([^/?#]+)/i,
  fetch: /^https?:\/\/([^/?#]+)/i,
}

function parse(text: string, use: UrlUse): { url: URL; canonical: string } | string {
  if (text === '') return 'must not be empty'
  if (text.length > MAX_URL_CHARACTERS) return `must not exceed ${MAX_URL_CHARACTERS} characters`
  // URL parsers disagree about these characters; upstream's may differ from the gateway's.
  if (/[\s\\]|\p{Cc}/u.test(text)) return 'must not contain white space or backslashes'
  const authority = AUTHORITY[use].exec(text)?.[1]
  if (authority === undefined) return use === 'call' ? 'must use https' : 'must use https or http'
  if (authority.includes('@')) return 'must not carry credentials'
  try {
    const url = new URL(text)
    // The URL that is passed on names the host that was checked, even if the caller wrote it as
    // 0x7f.1.
    const sameHost =
      url.host === authority.toLowerCase().replace(url.protocol === 'https:' ? /:443$/ : /:80$/, '')
    return { url, canonical: sameHost ? text : url.href }
  } catch {
    return 'must be a valid URL'
  }
}

/**
 * Checks that the gateway may fetch a URL, or may let a provider call it: `https`, no credentials,
 * and a host all of whose addresses are publicly routable. Fails closed: a host that cannot be
 * resolved in time is refused, in the same words, so that no caller learns which names resolve
 * inside. The answered URL is trimmed.
 */
export async function checkPublicUrl(
  value: unknown,
  resolve: ResolveHost,
  { use = 'call', timeoutMs = RESOLVE_TIMEOUT_MS }: { use?: UrlUse; timeoutMs?: number } = {},
): Promise<PublicUrlVerdict> {
  if (typeof value !== 'string') return { ok: false, reason: 'must be a string' }
  const parsed = parse(value.trim(), use)
  if (typeof parsed === 'string') return { ok: false, reason: parsed }
  const refused = { ok: false, reason: 'must have a publicly routable host' } as const
  const hostname = parsed.url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (hostname === '' || /(?:^|\.)localhost\.?$/.test(hostname)) return refused
  if (isIP(hostname) !== 0)
    return isPublicAddress(hostname)
      ? { ok: true, url: parsed.canonical, addresses: [hostname] }
      : refused
  let addresses: readonly string[]
  try {
    addresses = await addressesOf(hostname, resolve, timeoutMs)
  } catch {
    return refused
  }
  if (
    addresses.length === 0 ||
    addresses.length > MAX_ADDRESSES ||
    !addresses.every(isPublicAddress)
  )
    return refused
  return { ok: true, url: parsed.canonical, addresses }
}

/** Special blocks inside otherwise global space that `ipaddr.js` does not name. */
const furtherIpv4 = [
  '192.0.0.0/24',
  '192.88.99.0/24',
  // Addresses of the public space under which the platforms of clouds answer their own machines only:
  // a machine's agent and name server, metadata, and services behind a private endpoint.
  '168.63.129.16/32',
  '192.80.8.124/32',
  '161.26.0.0/16',
  '166.8.0.0/14',
  '199.36.153.4/30',
  '199.36.153.8/30',
].map((block) => ipaddr.IPv4.parseCIDR(block))
const furtherIpv6 = [
  '2001:db8::/32',
  '3fff::/20',
  // IETF protocol assignments as a whole: Teredo, ORCHID, benchmarking and future ones.
  '2001::/23',
  // 6to4 reaches whatever IPv4 address it embeds.
  '2002::/16',
  // Services of a cloud's platform behind a private endpoint, as above.
  '2600:2d00:2:1000::/64',
  '2600:2d00:2:2000::/64',
].map((block) => ipaddr.IPv6.parseCIDR(block))
const globalUnicastIpv6 = ipaddr.IPv6.parseCIDR('2000::/3')

function isPublicIpv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !furtherIpv4.some((block) => address.match(block))
}

function isPublicIpv6(address: ipaddr.IPv6): boolean {
  if (address.isIPv4MappedAddress()) return isPublicIpv4(address.toIPv4Address())
  // Everything outside 2000::/3 (loopback, IPv4-compatible, NAT64, unique local, …) is not global.
  return (
    address.match(globalUnicastIpv6) &&
    address.range() === 'unicast' &&
    !furtherIpv6.some((block) => address.match(block))
  )
}

/**
 * Whether an address is publicly routable: not local, private, link-local, multicast, carrier-grade
 * NAT, documentation, benchmarking, translation, tunnelling, reserved or of a cloud's platform.
 * Anything that is not an address is not public. An IPv6 prefix that a network chose itself to
 * translate IPv4 cannot be recognised.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text)
  if (address === undefined) return false
  return address instanceof ipaddr.IPv4 ? isPublicIpv4(address) : isPublicIpv6(address)
}
