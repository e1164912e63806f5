import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import type { BegunSignIn } from './provider.ts'

/**
 * Sign-ins that have begun, as the browser keeps them in a cookie: signed, so that every replica takes back what another
 * one has begun, and no one can make one that was not.
 */

/** A person has this long at the provider. */
export const BEGUN_FOR_MS = 10 * 60_000

/** The longest text of one: a cookie holds 4,096 bytes. */
const MAX_LENGTH = 3_800

/** A sign-in with the page to go on to. */
export interface KeptSignIn extends BegunSignIn {
  readonly next: string
}

export interface BegunSignIns {
  /** The text for the cookie; without the page to go on to where that is too long. */
  readonly write: (begun: KeptSignIn) => string
  /** Reads a text; undefined for one that was not written here, or too long ago. */
  readonly read: (text: string) => KeptSignIn | undefined
}

interface Written extends KeptSignIn {
  /** Unix milliseconds. */
  readonly untilMs: number
}

/** `secret` is one that all replicas have; the key is derived from it. */
export function createBegunSignIns(secret: string, clock: Clock, first: string): BegunSignIns {
  const key = createHmac('sha256', secret).update('tollgate console: begun sign-ins').digest()
  const signed = (body: string): string =>
    `${body}.${createHmac('sha256', key).update(body).digest('base64url')}`
  const textOf = (begun: KeptSignIn): string => {
    const written: Written = { ...begun, untilMs: clock.nowMs() + BEGUN_FOR_MS }
    return signed(Buffer.from(JSON.stringify(written)).toString('base64url'))
  }
  return {
    write: (begun) => {
      const text = textOf(begun)
      return text.length <= MAX_LENGTH ? text : textOf({ ...begun, next: first })
    },
    read: (text) => {
      const [body = ''] = text.split('.', 1)
      const [given, right] = [Buffer.from(text), Buffer.from(signed(body))]
      if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
      // The signature has said that it was written above.
      const { untilMs, ...begun } = JSON.parse(Buffer.from(body, 'base64url').toString()) as Written
      return clock.nowMs() < untilMs ? begun : undefined
    },
  }
}
