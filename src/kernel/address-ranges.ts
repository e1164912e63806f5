import ipaddr from 'ipaddr.js'
import { type NetworkAddress, parseAddress } from './network-address.ts'

/**
 * Ranges of network addresses in CIDR notation (RFC 4632, RFC 4291 §2.3): parsing and comparison.
 */

type Range = readonly [NetworkAddress, number]

const bitsOf = (address: NetworkAddress): number => (address.kind() === 'ipv4' ? 32 : 128)

/**
 * Reads one range; an IPv4 address inside IPv6 counts as the IPv4 address. Undefined if the text is
 * no range.
 */
function parsed(text: string): Range | undefined {
  const [host = '', length, ...others] = text.trim().split('/')
  const written = parseAddress(host)
  if (written === undefined || others.length > 0) return undefined
  if (length !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined
  const bits = length === undefined ? bitsOf(written) : Number(length)
  if (bits > bitsOf(written)) return undefined
  const isMapped = written instanceof ipaddr.IPv6 && written.isIPv4MappedAddress()
  if (!isMapped) return [written, bits]
  return bits < 96 ? undefined : [written.toIPv4Address(), bits - 96]
}

function contains([network, bits]: Range, [address, itsBits]: Range): boolean {
  return itsBits >= bits && address.kind() === network.kind() && address.match(network, bits)
}

/**
 * The canonical form of a range: its first address and its length, `203.0.113.0/24`, or a single
 * address alone. Undefined if the text is neither an address nor a range.
 */
export function canonicalRange(text: string): string | undefined {
  const range = parsed(text)
  if (range === undefined) return undefined
  const [address, bits] = range
  const of = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  const first = of.networkAddressFromCIDR(`${address.toString()}/${bits}`)
  return bits === bitsOf(address) ? first.toString() : `${first.toString()}/${bits}`
}

/**
 * The /64 of an IPv6 address, because one customer owns a whole /64. Any other text is returned
 * unchanged.
 */
export function addressBlock(address: string): string {
  const range = parsed(address)
  if (range === undefined || range[0].kind() === 'ipv4') return range?.[0].toString() ?? address
  return canonicalRange(`${range[0].toString()}/64`) ?? address
}

/** Whether every address of a range lies in one of those others. */
export function isWithinRanges(range: string, ranges: readonly string[]): boolean {
  const inner = parsed(range)
  if (inner === undefined) return false
  return ranges.some((text) => {
    const outer = parsed(text)
    return outer !== undefined && contains(outer, inner)
  })
}
