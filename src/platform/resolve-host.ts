import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { Absences } from '../kernel/absences.ts'
import type { ResolveHost } from '../kernel/public-url.ts'

const noRecord: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND'])

/**
 * Asks DNS for all A and AAAA records. It does not use `dns.lookup`, which would let slow names
 * occupy the thread pool that files and hashing share, and which would read this machine's hosts
 * file.
 */
export const resolveByDns: ResolveHost = async (hostname) => {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 })
  const orNone = (error: unknown): readonly string[] => {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
    if (typeof code === 'string' && noRecord.has(code)) return []
    throw error
  }
  const found = await Promise.all([
    resolver.resolve4(hostname).catch(orNone),
    resolver.resolve6(hostname).catch(orNone),
  ])
  return found.flat()
}

/** Does not look a host up again for a moment once it could not be resolved. */
export function rememberUnresolved(resolve: ResolveHost): ResolveHost {
  const unresolved = new Absences()
  return async (hostname) => {
    if (unresolved.has(hostname)) return []
    let addresses: readonly string[] = []
    try {
      addresses = await resolve(hostname)
      return addresses
    } finally {
      if (addresses.length === 0) unresolved.add(hostname)
    }
  }
}

/** A connection's lookup that gives the checked addresses, whatever the name resolves to by now. */
export function fixedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, { all: wantsAll }, done) => {
    const [first] = all
    if (wantsAll === true) done(null, all)
    else done(null, first?.address ?? '', first?.family)
  }
}
