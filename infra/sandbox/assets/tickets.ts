import { createHash, createHmac } from 'node:crypto'
import { type Random, randomHex } from '../kit/random.ts'
import { stampOf } from './envelope.ts'

/**
 * The credentials of a verification: a ticket opens its page, a token asks for its result. The token
 * follows from the ticket, and the session's id from the token, so that neither has to be kept.
 */

/** Fixed: what it guards are verifications of nobody, and links must survive a restart. */
const TOKEN_KEY = 'sandbox-verification'

/** What a link to the page holds. */
export function newTicket(random: Random, nowMs: number): string {
  return `${stampOf(nowMs)}${randomHex(random, 32)}`
}

/** What the result is asked for with. */
export function tokenOf(ticket: string): string {
  const secret = createHmac('sha256', TOKEN_KEY).update(ticket).digest('hex')
  return `${ticket.slice(0, 14)}${secret.slice(0, 32).toUpperCase()}`
}

/** What the session is kept under. */
export function sessionIdOf(token: string): string {
  return `session-${createHash('sha256').update(token).digest('hex').slice(0, 24)}`
}
