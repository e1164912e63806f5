import { type Static, Type } from '@sinclair/typebox'
import { isPrintable } from '../../kernel/characters.ts'
import { isCountry } from '../../kernel/countries.ts'

/** A party of a statement: the tenant that it is for, or its issuer. */

export const MAX_LEGAL_NAME_CHARACTERS = 200
export const MAX_ADDRESS_LINES = 6
export const MAX_ADDRESS_CHARACTERS = 100
export const MAX_REFERENCE_CHARACTERS = 64

/** The terms of a party in an event. */
export const partyTerms = {
  legalName: Type.String(),
  /** The lines below the name, without the country. */
  address: Type.Array(Type.String()),
  /** ISO 3166-1, two letters. */
  country: Type.String(),
  /** A number of the tax office, as statements show it. */
  taxId: Type.Optional(Type.String()),
} as const

const PartySchema = Type.Object(partyTerms)
type PartyTerms = Static<typeof PartySchema>

/** A party as it is asked for. */
export interface Party {
  readonly legalName: string
  readonly address: readonly string[]
  readonly country: string
  readonly taxId?: string | undefined
}

type Refuse = (param: string, message: string) => never

/** The terms of a party after their checks; `refuse` is called with the member that is not valid. */
export function canonicalParty(
  refuse: Refuse,
  { legalName, address, country, taxId }: Party,
): PartyTerms {
  requireLine(refuse, 'legal_name', legalName, MAX_LEGAL_NAME_CHARACTERS)
  if (address.length === 0 || address.length > MAX_ADDRESS_LINES)
    refuse('address', `must have 1 to ${MAX_ADDRESS_LINES} lines`)
  for (const [index, line] of address.entries())
    requireLine(refuse, `address[${index}]`, line, MAX_ADDRESS_CHARACTERS)
  if (!isCountry(country))
    refuse('country', 'must be the two capital letters of a country by ISO 3166-1, such as CN')
  if (taxId !== undefined) requireLine(refuse, 'tax_id', taxId, MAX_REFERENCE_CHARACTERS)
  return { legalName, address: [...address], country, ...(taxId === undefined ? {} : { taxId }) }
}

/** Returns the same text for the same party. */
export function partyFingerprint({ legalName, address, country, taxId }: Party): string {
  return JSON.stringify([legalName, address, country, taxId ?? null])
}

/** A line is shown on statements as it is: it has no control characters and no space around it. */
export function requireLine(
  refuse: Refuse,
  param: string,
  text: string,
  maxCharacters: number,
): void {
  if (!isPrintable(text, maxCharacters))
    refuse(param, `must be one line of 1 to ${maxCharacters} printable characters`)
  if (text.trim() !== text) refuse(param, 'must not begin or end with a space')
}
