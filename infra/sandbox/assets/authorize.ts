import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { systemClock } from '../../../src/kernel/clock.ts'
import { Refusal } from '../http/wire.ts'
import type { SandboxOptions } from '../options.ts'
import { KNOWN_KEY, type Region, REGIONS, SERVICE } from './key.ts'
import { ALGORITHM, bodyHashOf, type Scope, signatureOf, TERMINATOR } from './signature.ts'

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

/** The region a request names, whether or not it is let in; empty for none of ours. */
export function namedRegion(request: FastifyRequest): Region | '' {
  const named = /Credential=[^/,\s]+\/\d+\/([^/,\s]+)\//.exec(header(request, 'authorization'))?.[1]
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

/** By the machine's clock: what a test moves is the sandbox's own time. */
function checkDate(at: string, date: string, maxSkewMs: number): void {
  const iso = at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
  const skewMs = Math.abs(Date.parse(iso) - systemClock.nowMs())
  // What is no date is no number, and not within anything.
  if (iso === at || !(skewMs <= maxSkewMs))
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
