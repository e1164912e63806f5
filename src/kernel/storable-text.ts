import { isLongerThan } from './characters.ts'

/**
 * Text that every store of the gateway can hold: no NUL (Postgres refuses it) and no lone surrogate
 * (it has no UTF-8 form). One such character in an event would poison every projection.
 */
const LONE_SURROGATE = /\p{Surrogate}/u
const NUL = '\u0000'

export function hasNul(text: string): boolean {
  return text.includes(NUL)
}

export function hasLoneSurrogate(text: string): boolean {
  return LONE_SURROGATE.test(text)
}

/** Whether a string can be stored as it is. */
export function isStorable(text: string): boolean {
  return !hasNul(text) && !hasLoneSurrogate(text)
}

/** Describes why a text cannot be stored; undefined if it can be. */
export function textFault(text: string, maxCharacters: number): string | undefined {
  if (isLongerThan(text, maxCharacters)) return `must be at most ${maxCharacters} characters`
  return isStorable(text) ? undefined : 'must be well-formed Unicode without NUL characters'
}

/** Cuts to a length in UTF-16 units and replaces what cannot be stored by U+FFFD. */
export function toStorable(text: string, maxLength: number): string {
  return text
    .slice(0, maxLength)
    .replaceAll(NUL, '\uFFFD')
    .replaceAll(/\p{Surrogate}/gu, '\uFFFD')
}
