import { canonicalRange } from '../../kernel/address-ranges.ts'
import { DomainError } from '../../kernel/errors.ts'

/** A tenant that needs more names larger ranges. */
export const MAX_TOKEN_ADDRESSES = 100

/** The ranges in canonical form, each once; a text that is no range stays as it was given. */
export function namedAddresses(given: readonly string[]): readonly string[] {
  return [...new Set(given.map((text) => canonicalRange(text) ?? text))]
}

/** @throws DomainError `token_addresses_invalid` naming the texts that are no ranges */
export function checkAddresses(tokenId: string, addresses: readonly string[] | undefined): void {
  if (addresses === undefined) return
  const refuse = (message: string): never => {
    throw new DomainError('token_addresses_invalid', message, { tokenId, param: 'addresses' })
  }
  if (addresses.length === 0) refuse('a list of addresses needs at least one entry')
  if (addresses.length > MAX_TOKEN_ADDRESSES)
    refuse(`a token may have at most ${MAX_TOKEN_ADDRESSES} ranges of addresses`)
  for (const text of addresses)
    if (canonicalRange(text) !== text)
      refuse(`${text.slice(0, 60)} is not an IP address or a range such as 203.0.113.0/24`)
}
