import { createHash, createHmac } from 'node:crypto'

/** The signature of this wire, as whoever checks it works it out again; pure. */

export const ALGORITHM = 'HMAC-SHA256'
/** How the scope of a signature ends. */
export const TERMINATOR = 'request'

/** A request as far as its signature covers it. */
export interface SignedRequest {
  readonly method: string
  /** As it was sent; empty counts as `/`. */
  readonly path: string
  readonly query: URLSearchParams
  /** What is signed: names in lower case, with their values. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** As `bodyHashOf` says it. */
  readonly bodyHash: string
}

/** What a signature is good for. */
export interface Scope {
  /** UTC, eight digits. */
  readonly date: string
  readonly region: string
  readonly service: string
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

/** Lower-case hexadecimal SHA-256 of a body. */
export function bodyHashOf(body: Buffer): string {
  return sha256(body)
}

/** All but unreserved characters, those included that `encodeURIComponent` leaves alone. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function canonicalQuery(query: URLSearchParams): string {
  const pairs = [...query].map(([name, value]) => [encoded(name), encoded(value)] as const)
  const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
  return pairs
    .sort((a, b) => order(a[0], b[0]) || order(a[1], b[1]))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/** A port that goes without saying is not signed. */
function canonicalValue(name: string, value: string): string {
  const trimmed = value.trim()
  return name === 'host' ? trimmed.replace(/:(?:80|443)$/, '') : trimmed
}

/** What is hashed of a request. */
export function canonicalRequest(request: SignedRequest): string {
  const headers = request.headers
    .map(([name, value]) => [name, canonicalValue(name, value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return [
    request.method,
    request.path === '' ? '/' : request.path,
    canonicalQuery(request.query),
    headers.map(([name, value]) => `${name}:${value}\n`).join(''),
    headers.map(([name]) => name).join(';'),
    request.bodyHash,
  ].join('\n')
}

/** The key a secret gives for one scope. The secret is taken as it was issued, never decoded. */
export function signingKey(secret: string, { date, region, service }: Scope): Buffer {
  return [region, service, TERMINATOR].reduce(hmac, hmac(secret, date))
}

/** The signature of a request, in lower-case hexadecimal; `at` is its `X-Date`. */
export function signatureOf(
  secret: string,
  scope: Scope,
  at: string,
  request: SignedRequest,
): string {
  const { date, region, service } = scope
  const text = [
    ALGORITHM,
    at,
    `${date}/${region}/${service}/${TERMINATOR}`,
    sha256(canonicalRequest(request)),
  ].join('\n')
  return hmac(signingKey(secret, scope), text).toString('hex')
}
