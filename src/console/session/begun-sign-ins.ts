import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import type { BegunSignIn } from './provider.ts'

/**
 * A sign-in that is under way, as the browser keeps it in a cookie: signed, so that every replica takes back what another
 * one has written, and no one can make one that was not.
 */

/** A person has this long at the provider, and again to choose between tokens. */
export const BEGUN_FOR_MS = 10 * 60_000

/** The longest text of one: a cookie holds 4,096 bytes. */
const MAX_LENGTH = 3_800

/** A sign-in that began, with the page to go on to. */
export interface KeptSignIn extends BegunSignIn {
  readonly next: string
}

/** A person whom the provider has named, and who chooses between several tokens. */
export interface KnownPerson {
  readonly subject: string
  /** The token that a claim gives; undefined: none. */
  readonly claimedId?: string | undefined
  readonly next: string
}

export interface SignedTexts<Kept> {
  /** The text for the cookie; without the page to go on to where that is too long. */
  readonly write: (kept: Kept) => string
  /** Reads a text; undefined for one that was not written here, or too long ago. */
  readonly read: (text: string) => Kept | undefined
}

/** `secret` is one that all replicas have; the key is derived from it. */
export function createBegunSignIns(secret: string, clock: Clock, first: string) {
  return signedTexts<KeptSignIn>('tollgate console: begun sign-ins', secret, clock, first)
}

/** Makes and reads texts of known people; it refuses a text of `createBegunSignIns`. */
export function createKnownPeople(secret: string, clock: Clock, first: string) {
  return signedTexts<KnownPerson>('tollgate console: known people', secret, clock, first)
}

function signedTexts<Kept extends { readonly next: string }>(
  purpose: string,
  secret: string,
  clock: Clock,
  first: string,
): SignedTexts<Kept> {
  const key = createHmac('sha256', secret).update(purpose).digest()
  const signed = (body: string): string =>
    `${body}.${createHmac('sha256', key).update(body).digest('base64url')}`
  const textOf = (kept: Kept): string => {
    const written = { kept, untilMs: clock.nowMs() + BEGUN_FOR_MS }
    return signed(Buffer.from(JSON.stringify(written)).toString('base64url'))
  }
  return {
    write: (kept) => {
      const text = textOf(kept)
      return text.length <= MAX_LENGTH ? text : textOf({ ...kept, next: first })
    },
    read: (text) => {
      const [body = ''] = text.split('.', 1)
      const [given, right] = [Buffer.from(text), Buffer.from(signed(body))]
      if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
      // The signature has said that it was written above.
      const { untilMs, kept } = JSON.parse(Buffer.from(body, 'base64url').toString()) as {
        readonly kept: Kept
        readonly untilMs: number
      }
      return clock.nowMs() < untilMs ? kept : undefined
    },
  }
}
