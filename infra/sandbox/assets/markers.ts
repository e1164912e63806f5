import { parseMarkers, type PromptMarkers } from '../faults/marker.ts'
import { type Fields, textIn } from '../kit/body.ts'

/** Members of bodies that hold an address of the caller's. */
const ADDRESSES = ['URL', 'CallbackURL']

/** As it was before it was put into an address; what was never encoded is left as it is. */
function decoded(address: string): string {
  try {
    return decodeURIComponent(address.replaceAll('+', '%20'))
  } catch {
    return address
  }
}

/** The markers in the path or the query of an address in a body. @throws UnknownSwitch */
export function markersOf(body: Fields): PromptMarkers {
  return parseMarkers(ADDRESSES.map((name) => decoded(textIn(body, name) ?? '')).join('\n'))
}
