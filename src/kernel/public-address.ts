import ipaddr from 'ipaddr.js'
import { parseAddress } from './network-address.ts'

/** Special blocks inside otherwise global space that `ipaddr.js` does not name. */
const furtherIpv4 = ['192.0.0.0/24', '192.88.99.0/24'].map((block) => ipaddr.IPv4.parseCIDR(block))
const furtherIpv6 = [
  '2001:db8::/32',
  '3fff::/20',
  // IETF protocol assignments as a whole: Teredo, ORCHID, benchmarking and what is still to come.
  '2001::/23',
  // 6to4 reaches whatever IPv4 address it embeds.
  '2002::/16',
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
 * NAT, documentation, benchmarking, translation, tunnelling or reserved. Anything that
 * is not an address is not public.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text)
  if (address === undefined) return false
  return address instanceof ipaddr.IPv4 ? isPublicIpv4(address) : isPublicIpv6(address)
}
