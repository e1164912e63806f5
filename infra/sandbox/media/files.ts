import { readCompactTime } from '../../../src/kernel/read-time.ts'
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { idInPath, queryOf } from '../http/wire.ts'

/** A constant key: the files are test pictures, and URLs must survive a restart. */
const SIGNING_KEY = 'sandbox-result-url'

function signature(path: string, date: string, seconds: string): string {
  return createHmac('sha256', SIGNING_KEY).update(`${path}\n${date}\n${seconds}`).digest('hex')
}

function basicDate(atMs: number): string {
  return new Date(Math.floor(atMs / 1000) * 1000).toISOString().replace(/[-:]|\.\d{3}/g, '')
}

/**
 * A result URL that is valid for some seconds from a moment; the same moment gives the same URL.
 */
export function signUrl(
  { baseUrl, options }: Pick<FamilyKit, 'baseUrl' | 'options'>,
  path: string,
  atMs: number,
  seconds = options.urlSeconds,
): string {
  const date = basicDate(atMs)
  const query = new URLSearchParams({
    'X-Tos-Algorithm': 'TOS4-HMAC-SHA256',
    'X-Tos-Credential': `sandbox/${date.slice(0, 8)}/local/tos/request`,
    'X-Tos-Date': date,
    'X-Tos-Expires': String(seconds),
    'X-Tos-SignedHeaders': 'host',
    'X-Tos-Signature': signature(path, date, String(seconds)),
  })
  return `${baseUrl()}${path}?${query.toString()}`
}

/** Why a result URL is refused, or null if it is valid. */
export function checkSignedUrl(
  path: string,
  query: URLSearchParams,
  nowMs: number,
): 'SignatureDoesNotMatch' | 'ExpiredSignature' | null {
  const date = query.get('X-Tos-Date') ?? ''
  const seconds = query.get('X-Tos-Expires') ?? ''
  const given = Buffer.from(query.get('X-Tos-Signature') ?? '')
  const wanted = Buffer.from(signature(path, date, seconds))
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    return 'SignatureDoesNotMatch'
  }
  const signedMs = readCompactTime(date) ?? Number.NaN
  return nowMs >= signedMs + Number(seconds) * 1000 ? 'ExpiredSignature' : null
}

/** A file, or the part of it that is asked for. */
export function partOfFile(bytes: Buffer, type: string, range: string | undefined): Answer {
  const headers = { 'content-type': type, 'accept-ranges': 'bytes' }
  const asked = /^bytes=(\d{1,12})-(\d{0,12})$/.exec(range ?? '')
  if (asked === null) return { status: 200, body: bytes, headers }
  const first = Number(asked[1])
  const last = Math.min(bytes.length - 1, asked[2] === '' ? Infinity : Number(asked[2]))
  if (first > last)
    return {
      status: 416,
      body: '',
      headers: { ...headers, 'content-range': `bytes */${bytes.length}` },
    }
  const place = `bytes ${first}-${last}/${bytes.length}`
  const body = bytes.subarray(first, last + 1)
  return { status: 206, body, headers: { ...headers, 'content-range': place } }
}

/** A file that is not given in parts. */
export function wholeFile(bytes: Buffer, type: string): Answer {
  return { status: 200, body: bytes, headers: { 'content-type': type } }
}

/** Why there is none. */
export function noFile(status: number, code: string): Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code></Error>\n`
  return { status, body, headers: { 'content-type': 'application/xml' } }
}

/** Answers a signed URL with its file: 403 for a bad or expired URL, 404 for a file that does not exist. */
export async function signedFile(
  { clock }: Pick<FamilyKit, 'clock'>,
  request: FastifyRequest,
  folder: string,
  find: (name: string) => Answer | null | Promise<Answer | null>,
): Promise<Answer> {
  const name = idInPath(request)
  const refused = checkSignedUrl(`${folder}/${name}`, queryOf(request), clock.nowMs())
  if (refused !== null) return noFile(403, refused)
  return (await find(name)) ?? noFile(404, 'NoSuchKey')
}
