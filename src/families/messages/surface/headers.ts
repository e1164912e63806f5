import type { FastifyRequest } from 'fastify'
import type { LimitHeaders } from '../../../api/kit/answers/answer-headers.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { type Clock, toTimestamp } from '../../../kernel/clock.ts'

/** Headers of this wire: those that are passed on, and those that show a caller's limits. */

const PASSED = /^anthropic-/
/** Headers that choose the payer, or the user whose things an account keeps. */
const ofAccount: ReadonlySet<string> = new Set([
  'anthropic-workspace-id',
  'anthropic-user-profile-id',
  'anthropic-organization-id',
])
const MAX_PASSED = 16
const MAX_CHARACTERS = 4 * 1024
const PRINTABLE = /^[\x20-\x7e]*$/

/**
 * The caller's version, betas and further headers of this wire, as they came.
 * @throws DomainError `invalid_request`, naming the header
 */
export function passedHeaders({
  headers,
}: Pick<FastifyRequest, 'headers'>): Readonly<Record<string, string>> {
  const passed: Record<string, string> = {}
  let count = 0
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || !PASSED.test(name)) continue
    if (ofAccount.has(name))
      refuse(name, `\`${name}\` is not accepted here: the gateway chooses the account that pays`)
    count += 1
    if (count > MAX_PASSED)
      refuse(name, `\`${name}\` is one of more than ${MAX_PASSED} headers that begin so`)
    const text = String(value)
    if (text.length > MAX_CHARACTERS)
      refuse(name, `\`${name}\` may have at most ${MAX_CHARACTERS} characters`)
    if (!PRINTABLE.test(text)) refuse(name, `\`${name}\` must be printable ASCII`)
    passed[name] = text
  }
  return passed
}

/** Writes a caller's limits into this wire's headers; the time of the reset is RFC 3339. */
export function messagesLimitHeaders(clock: Clock): LimitHeaders {
  return (statuses) =>
    Object.fromEntries(
      Object.entries(statuses).flatMap(([measure, { limit, remaining, resetMs }]) => {
        const name = `anthropic-ratelimit-${measure}`
        return [
          [`${name}-limit`, String(limit)],
          [`${name}-remaining`, String(remaining)],
          [`${name}-reset`, toTimestamp(clock.nowMs() + resetMs)],
        ]
      }),
    )
}
