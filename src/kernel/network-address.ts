import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type NetworkAddress = ipaddr.IPv4 | ipaddr.IPv6

/**
 * Reads an address; undefined if the text is none, or has a zone, which only exists on a local
 * link.
 */
export function parseAddress(text: string): NetworkAddress | undefined {
  // A zone: `fe80::1%eth0`.
  if (text.includes('%')) return undefined
  switch (isIP(text)) {
    case 4:
      return ipaddr.IPv4.parse(text)
    case 6: {
      // Groups only: `ipaddr.js` takes the dotted `::8.8.8.8` for the mapped `::ffff:8.8.8.8`.
      const groups = new URL(`http://[${text}]/`).hostname.slice(1, -1)
      return ipaddr.IPv6.parse(groups)
    }
    default:
      return undefined
  }
}
