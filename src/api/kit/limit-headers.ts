import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Principal } from '../../app/access/principal.ts'
import type { Standings } from '../../app/throttle/rates.ts'
import { callerOf } from './authenticate.ts'

/** How a caller stands with the tightest of its own limits, its user's and its tenant's; upstream's never reach it. */
export type StandingsOf = (principal: Principal) => Standings

const MINUTE_MS = 60_000

/** As the clients of this wire read it: `0s`, `12ms`, `1.5s`, `1m0s`. */
export function durationText(milliseconds: number): string {
  if (milliseconds > 0 && milliseconds < 1_000) return `${milliseconds}ms`
  const minutes = Math.floor(milliseconds / MINUTE_MS)
  const seconds = `${(milliseconds % MINUTE_MS) / 1_000}s`
  return minutes === 0 ? seconds : `${minutes}m${seconds}`
}

/** `x-ratelimit-limit-requests` and its like; none for whoever has no limits. */
export function limitHeaders(standings: Standings): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(standings).flatMap(([measure, { limit, remaining, resetMs }]) => [
      [`x-ratelimit-limit-${measure}`, String(limit)],
      [`x-ratelimit-remaining-${measure}`, String(remaining)],
      [`x-ratelimit-reset-${measure}`, durationText(resetMs)],
    ]),
  )
}

/** Those of whoever sent a request. */
export function limitHeadersOf(
  request: FastifyRequest,
  standingsOf: StandingsOf,
): Readonly<Record<string, string>> {
  const caller = callerOf(request)
  return caller === undefined ? {} : limitHeaders(standingsOf(caller))
}

/** Puts them on every answer below the plugin, failures included; streams ask for them themselves. */
export function useLimitHeaders(app: FastifyInstance, standingsOf: StandingsOf): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    void reply.headers(limitHeadersOf(request, standingsOf))
    done(null, payload)
  })
}
