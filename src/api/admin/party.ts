import { type Static, Type } from 'typebox'
import {
  MAX_ADDRESS_CHARACTERS,
  MAX_ADDRESS_LINES,
  MAX_LEGAL_NAME_CHARACTERS,
  MAX_REFERENCE_CHARACTERS,
  type Party,
} from '../../domain/account/party.ts'

/** Members of bodies and answers that describe a party of a statement. */

export const orNull = (description: string, maxLength?: number) =>
  Type.Union([Type.String(maxLength === undefined ? {} : { maxLength }), Type.Null()], {
    description,
  })

const address = Type.Array(Type.String({ maxLength: MAX_ADDRESS_CHARACTERS }), {
  maxItems: MAX_ADDRESS_LINES,
  description: 'The lines of the address, without the country.',
})
const TAX_ID = 'Tax number, as statements show it'

/** The party in a body; `legalName` describes whose name it is. */
export const partyBody = (legalName: string) => ({
  legal_name: Type.String({ maxLength: MAX_LEGAL_NAME_CHARACTERS, description: legalName }),
  address,
  country: Type.String({ maxLength: 2, description: 'ISO 3166-1, two capital letters.' }),
  tax_id: Type.Optional(orNull(`${TAX_ID}; absent or null: none.`, MAX_REFERENCE_CHARACTERS)),
})

/** The party in an answer. */
export const partyMembers = {
  legal_name: orNull('null: never set.'),
  address,
  country: orNull('null: never set.'),
  tax_id: orNull(`${TAX_ID}.`),
}

type PartyBody = Static<ReturnType<typeof Type.Object<ReturnType<typeof partyBody>>>>

/** The party that a body asks for. */
export function readParty(body: PartyBody): Party {
  const { legal_name: legalName, address: lines, country, tax_id: taxId } = body
  return { legalName, address: lines, country, taxId: taxId ?? undefined }
}

/** The party as answers show it: names that were never set are null. */
export function toParty({ legalName, address: lines, country, taxId }: Party) {
  return {
    legal_name: legalName === '' ? null : legalName,
    address: lines,
    country: country === '' ? null : country,
    tax_id: taxId ?? null,
  }
}
