import { readCompactTime } from '../../../src/kernel/read-time.ts'
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { systemClock } from '../../../src/kernel/clock.ts'
import { Refusal } from '../http/wire.ts'
import type { SandboxOptions } from '../options.ts'

/**
 * The one key this upstream knows, of an account that has a library in each region. The application
 * names it too (`sandboxLibraryKey`): neither side may import the other, and a test compares them.
 */
export const KNOWN_KEY = {
  accessKeyId: 'AKSANDBOX',
  secretAccessKey: 'SKSANDBOX+secret/==',
} as const

/** The service that signatures are for. */
export const SERVICE = 'ark'

/** Regions as signatures name them; each has its library. */
const REGIONS = ['cn-beijing', 'ap-southeast-1'] as const
export type Region = (typeof REGIONS)[number]

/** The signature of this wire, as the checking side computes it; pure. */

const ALGORITHM = 'HMAC-SHA256'
/** How the scope of a signature ends. */
const TERMINATOR = 'request'

/** A request as far as its signature covers it. */
interface SignedRequest {
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
interface Scope {
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

/** Nothing is signed that leaves one of these out. */
const ALWAYS_SIGNED = ['host', 'x-content-sha256', 'x-date']

const AUTHORIZATION = new RegExp(
  `^${ALGORITHM} Credential=([^,\\s]+), ?SignedHeaders=([^,\\s]+), ?Signature=([0-9a-f]{64})$`,
)

/** Whose request it is, and to which library. */
export interface Caller {
  readonly accessKeyId: string
  readonly region: Region
}

function header(request: FastifyRequest, name: string): string {
  const value = request.headers[name]
  return typeof value === 'string' ? value : (value?.join(',') ?? '')
}

/** The region a request names, whether or not it is authorized; empty for an unknown one. */
export function namedRegion(request: FastifyRequest): Region | '' {
  const named = /Credential=[^/,\s]{1,128}\/\d{1,8}\/([^/,\s]{1,64})\//.exec(
    header(request, 'authorization'),
  )?.[1]
  return REGIONS.find((region) => region === named) ?? ''
}

function scopeOf(credential: string): Scope & Caller {
  const [accessKeyId = '', date = '', named, service = '', terminator, ...rest] =
    credential.split('/')
  const region = REGIONS.find((one) => one === named)
  const right = service === SERVICE && terminator === TERMINATOR && rest.length === 0
  if (region === undefined || !right || !/^\d{8}$/.test(date))
    throw new Refusal('InvalidCredential', 'The credential scope is not valid.')
  return { accessKeyId, date, region, service }
}

/** By the machine's clock: a test moves only the sandbox's own time. */
function checkDate(at: string, date: string, maxSkewMs: number): void {
  const signedMs = readCompactTime(at)
  if (signedMs === undefined || Math.abs(signedMs - systemClock.nowMs()) > maxSkewMs)
    throw new Refusal('InvalidTimestamp', 'The request date is not valid or too far from now.')
  if (!at.startsWith(date))
    throw new Refusal('InvalidCredential', 'The credential scope is of another date.')
}

function mismatch(): Refusal {
  return new Refusal('SignatureDoesNotMatch', 'The request signature does not match.')
}

function isEqual(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/**
 * Checks the signature of a request over everything it covers; it is good for so long before and after its
 * date. @throws Refusal
 */
export function authorize(
  request: FastifyRequest,
  body: Buffer,
  { signatureSkewMs }: Pick<SandboxOptions, 'signatureSkewMs'>,
): Caller {
  const authorization = header(request, 'authorization')
  if (authorization === '')
    throw new Refusal('MissingRequestInfo', 'The request has no `Authorization`.')
  const [, credential = '', names = '', given = ''] = AUTHORIZATION.exec(authorization) ?? []
  if (given === '')
    throw new Refusal('InvalidAuthorization', 'The `Authorization` of the request is not valid.')
  const signed = names.split(';')
  const unsigned = ALWAYS_SIGNED.find((name) => !signed.includes(name))
  if (unsigned !== undefined)
    throw new Refusal('InvalidAuthorization', `The header ${unsigned} is not signed.`)
  const absent = signed.find((name) => header(request, name) === '')
  if (absent !== undefined)
    throw new Refusal('MissingRequestInfo', `The request has no header ${absent}.`)

  const scope = scopeOf(credential)
  const { accessKeyId, region } = scope
  if (accessKeyId !== KNOWN_KEY.accessKeyId)
    throw new Refusal('InvalidAccessKey', 'The access key does not exist.')
  const at = header(request, 'x-date')
  checkDate(at, scope.date, signatureSkewMs)
  const bodyHash = bodyHashOf(body)
  if (!isEqual(header(request, 'x-content-sha256'), bodyHash)) throw mismatch()
  const [path = ''] = request.url.split('?')
  const wanted = signatureOf(KNOWN_KEY.secretAccessKey, scope, at, {
    method: request.method,
    path,
    query: new URL(request.url, 'http://sandbox').searchParams,
    headers: signed.map((name) => [name, header(request, name)] as const),
    bodyHash,
  })
  if (!isEqual(given, wanted)) throw mismatch()
  return { accessKeyId, region }
}
