import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RequestError } from '../../api/kit/request-error.ts'
import { addressHoldsSecret } from '../../app/support/words.ts'
import { findHref } from '../kit/href.ts'

/** The headers of every answer of the console, and which requests it refuses before anything else. */

/** No inline script or style is needed: pages have neither, and charts are drawn without `style`. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

export const guardHeaders = {
  'content-security-policy': POLICY,
  'cache-control': 'no-store',
  // `no-referrer` would make the origin of a form null (Fetch standard, 3.1).
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Methods that change nothing. */
const reading: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Whether a changing request comes from a page of this origin. */
function isOwn({ headers: sent, protocol }: FastifyRequest): boolean {
  const site = sent['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = sent
  const own = `${protocol}://${host ?? ''}`
  return origin !== undefined && URL.canParse(own) && new URL(own).origin === origin
}

/** The address that replaces one with the secret of a token: the browser keeps this one. */
export const secretHref = (): string => findHref({ refused: 'secret' })

/**
 * Sets the headers, leads away from an address that holds the secret of a token, and refuses changes that the
 * page of another site sends.
 */
export function useGuard(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(guardHeaders)
    if (addressHoldsSecret(request.url)) {
      // The script would follow a redirect and put a part of the page into its own.
      if (request.headers['hx-request'] === undefined) reply.redirect(secretHref(), 303)
      else reply.header('hx-redirect', secretHref()).send()
      return
    }
    if (reading.has(request.method) || isOwn(request)) return done()
    done(new RequestError('address_not_allowed', 'This form was not sent from the console'))
  })
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1'])

/** Headers that a proxy sets: with one of them the address is the proxy's, not the browser's. */
const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-proto'] as const

/** Whether a secret may be sent: over TLS, or from this machine itself. */
export function isConfidential({ protocol, ip, headers: sent }: FastifyRequest): boolean {
  if (protocol === 'https') return true
  return loopback.has(ip) && forwarding.every((name) => sent[name] === undefined)
}

/** The cookie of a session, that of a sign-in by name which has begun, and that of a person who chooses a token. */
type CookieName = 'tollgate' | 'tollgate-sign-in' | 'tollgate-person'

/** The name of a cookie: over TLS its prefix binds it to this host. */
function cookieName({ protocol }: FastifyRequest, name: CookieName): string {
  return protocol === 'https' ? `__Host-${name}` : name
}

/** The id of the session that a request belongs to, as its cookie says. */
export function sessionIn(request: FastifyRequest): string | undefined {
  return cookieIn(request, 'tollgate')
}

/** The value of a cookie; undefined without it. */
export function cookieIn(request: FastifyRequest, wanted: CookieName): string | undefined {
  const name = cookieName(request, wanted)
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([key]) => key === name)?.[1]
}

/** The header that keeps the id of a session in the browser; undefined ends it. */
export function sessionCookie(request: FastifyRequest, id: string | undefined): string {
  return cookieHeader(request, 'tollgate', id)
}

/** The header that keeps a value in the browser, until the browser is closed or so long; undefined deletes it. */
export function cookieHeader(
  request: FastifyRequest,
  name: CookieName,
  value: string | undefined,
  maxAgeS?: number,
): string {
  const parts = [
    `${cookieName(request, name)}=${value ?? ''}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
  ]
  if (request.protocol === 'https') parts.push('Secure')
  const ageS = value === undefined ? 0 : maxAgeS
  if (ageS !== undefined) parts.push(`Max-Age=${ageS}`)
  return parts.join('; ')
}

/** Whether the page of another site has sent the browser here. */
export function isFromElsewhere({ headers: sent }: FastifyRequest): boolean {
  const site = sent['sec-fetch-site']
  return site !== undefined && site !== 'same-origin' && site !== 'none'
}

/** The browser that opens a session, for its holder to recognise. */
export function openedBy({ ip, headers: sent }: FastifyRequest) {
  return { address: ip, browser: sent['user-agent'] }
}
