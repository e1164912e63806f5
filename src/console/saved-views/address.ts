import { RequestError } from '../../api/kit/request-error.ts'
import { addressHoldsSecret } from '../../app/support/words.ts'
import { isAddressOf, nextPlace } from '../kit/href.ts'
import type { KnownPages } from '../page.tsx'

/** The addresses that can be saved: those of pages, with parameters that the page has. */

const MAX_ADDRESS_CHARACTERS = 1_000

/** Members of an address that stand for a place in a list as it was, and not for a view. */
const passing = ['cursor', 'since', 'as_of'] as const

/** The address as it is saved. @throws RequestError `body_invalid` for one that is of no page */
export function savableAddress(pages: KnownPages, given: string): string {
  const refuse = (words: string): never => {
    throw new RequestError('body_invalid', `address ${words}`, 'address')
  }
  if (given.length > MAX_ADDRESS_CHARACTERS)
    refuse(`has at most ${MAX_ADDRESS_CHARACTERS} characters: remove a part of the filter`)
  if (nextPlace(given) !== given || addressHoldsSecret(given))
    refuse('must be that of a page of the console')
  const { pathname, searchParams } = new URL(given, 'http://console')
  const page = [...pages.keys()].find((path) => isAddressOf(path, pathname))
  const members = page === undefined ? undefined : pages.get(page)
  if (members === undefined) return refuse('must be that of a page of the console')
  for (const name of passing) searchParams.delete(name)
  const unknown = [...searchParams.keys()].find((name) => !members.has(name))
  if (unknown !== undefined) refuse(`has ${unknown}, which is no parameter of the page`)
  const query = searchParams.toString()
  return query === '' ? pathname : `${pathname}?${query}`
}
