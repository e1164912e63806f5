import { distance } from 'fastest-levenshtein'

/** Finds the known name that a misspelled one stands for. */

/** Shorter names have too few letters to distinguish a typo from another name. */
export const MIN_LETTERS = 4
/** Names of up to this many letters may have one slip, longer ones two. */
const ONE_SLIP_LETTERS = 5
/** A longer name is no typo of any known one. */
const MAX_LETTERS = 128

/** A name in lower case and without underscores, for comparisons. */
export function plainLetters(name: string): string {
  return name.toLowerCase().replaceAll('_', '')
}

/** A known name in plain letters and as it is written. */
export type Candidate = readonly [plain: string, name: string]

/** Whether two letters side by side have changed places. */
function isSwapped(one: string, other: string): boolean {
  let at = 0
  while (at < one.length && one[at] === other[at]) at += 1
  return one.slice(0, at) + one.charAt(at + 1) + one.charAt(at) + one.slice(at + 2) === other
}

/**
 * The known name that differs from the given one only in case or in a letter or two; the first of
 * equally near ones.
 */
export function nearestCandidate(
  name: string,
  candidates: Iterable<Candidate>,
): string | undefined {
  const plain = plainLetters(name)
  if (plain.length < MIN_LETTERS || plain.length > MAX_LETTERS) return undefined
  let best: string | undefined
  let fewest = Infinity
  for (const [letters, known] of candidates) {
    if (Math.abs(letters.length - plain.length) > 2) continue
    const apart = distance(plain, letters)
    const slips = apart === 2 && isSwapped(plain, letters) ? 1 : apart
    const allowed = Math.min(plain.length, letters.length) <= ONE_SLIP_LETTERS ? 1 : 2
    if (slips <= allowed && slips < fewest) [best, fewest] = [known, slips]
  }
  return best
}

/** Finds the nearest of the known names for each of many given names. */
export function nearestAmong(known: Iterable<string>): (name: string) => string | undefined {
  const candidates = Array.from(known, (one): Candidate => [plainLetters(one), one]).filter(
    ([plain]) => plain.length >= MIN_LETTERS,
  )
  return (name) => nearestCandidate(name, candidates)
}

/** Finds the nearest of the known names for one given name. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  return nearestAmong(known)(name)
}

/** `: did you mean …?` of a near name, nothing without one: the end of a message. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const near = nearestName(name, known)
  return near === undefined ? '' : `: did you mean \`${near}\`?`
}
