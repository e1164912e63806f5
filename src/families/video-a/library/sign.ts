import { createHash, createHmac } from 'node:crypto'
import { toTimestamp } from '../../../kernel/clock.ts'

/**
 * Authentication at asset libraries: a signature over the request, with a secret that is never
 * sent.
 */

const ALGORITHM = 'HMAC-SHA256'
/** The last input of the key derivation, which is also the end of a scope. */
const TERMINATOR = 'request'
/** Sorted, as the signature wants them. */
const SIGNED_HEADERS = ['content-type', 'host', 'x-content-sha256', 'x-date'] as const

/** Credentials and scope of a signature. */
interface SigningKey {
  readonly accessKeyId: string
  /** The secret as issued: it may look like base64 but is not decoded. */
  readonly secretAccessKey: string
  readonly region: string
  readonly service: string
}

/** A POST as it will be sent. */
interface UnsignedRequest {
  /** Host, as in the `host` header. */
  readonly host: string
  /** Percent-encoded, at least `/`. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly contentType: string
  readonly body: string
  /**
   * Unix milliseconds, by the wall clock: upstream refuses one that differs from its own by some
   * minutes.
   */
  readonly atMs: number
}

/**
 * A query in the form that is sent and signed: sorted, with all but the unreserved characters
 * percent-encoded.
 */
export function queryText(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => [encoded(name), encoded(value)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map((pair) => pair.join('='))
    .join('&')
}

/** The request in the one form that is signed. */
export function canonicalRequest(request: UnsignedRequest): string {
  const headers = headersToSign(request)
  return [
    'POST',
    request.path,
    queryText(request.query),
    ...SIGNED_HEADERS.map((name) => `${name}:${headers[name]}`),
    '',
    SIGNED_HEADERS.join(';'),
    headers['x-content-sha256'],
  ].join('\n')
}

/** The key of one day, region and service; `day` is `YYYYMMDD`. */
export function signingKey(key: SigningKey, day: string): Buffer {
  return [day, key.region, key.service, TERMINATOR].reduce<Buffer>(
    (derivedFrom, part) => hmac(derivedFrom, part),
    Buffer.from(key.secretAccessKey, 'utf8'),
  )
}

/** The headers of a signed request, including the signed ones. */
export function signedHeaders(
  request: UnsignedRequest,
  key: SigningKey,
): Readonly<Record<string, string>> {
  const headers = headersToSign(request)
  const date = headers['x-date']
  const day = date.slice(0, 8)
  const scope = [day, key.region, key.service, TERMINATOR].join('/')
  const toSign = [ALGORITHM, date, scope, sha256(canonicalRequest(request))].join('\n')
  const signature = hmac(signingKey(key, day), toSign).toString('hex')
  const parts = [
    `Credential=${key.accessKeyId}/${scope}`,
    `SignedHeaders=${SIGNED_HEADERS.join(';')}`,
    `Signature=${signature}`,
  ]
  return { ...headers, authorization: `${ALGORITHM} ${parts.join(', ')}` }
}

function headersToSign({
  host,
  contentType,
  body,
  atMs,
}: UnsignedRequest): Readonly<Record<(typeof SIGNED_HEADERS)[number], string>> {
  return {
    'content-type': contentType,
    // Upstream omits a default port, whatever the scheme.
    host: host.replace(/:(?:80|443)$/, ''),
    'x-content-sha256': sha256(body),
    // 2026-01-02T03:04:05.678Z is written 20260102T030405Z.
    'x-date': toTimestamp(atMs).replace(/[-:]|\.\d+/g, ''),
  }
}

/** `encodeURIComponent` does not encode five reserved characters. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest()
}
