import type { FastifyRequest } from 'fastify'
import type { Channel } from '../../../app/ports.ts'
import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import { failureHeaders } from '../../../api/kit/failure-headers.ts'
import { createSurface, type Failure } from '../../../api/kit/surface-failures.ts'
import { type Asked, askedOf, VERSION } from './asked.ts'
import { INVALID, libraryFailures, MISSING } from './failures.ts'

type Region = Channel['region']

/** Said of every answer, whoever keeps the library. */
const SERVICE = 'assets'

/** What every answer says of its request. */
export interface ResponseMetadata {
  readonly RequestId: string
  readonly Action?: string
  readonly Version?: string
  readonly Service: typeof SERVICE
  readonly Region?: 'overseas'
}

/** `region` is where the thing is kept, as far as it is known: only `overseas` is told. */
export function metadataOf(
  requestId: string,
  { action, version }: Asked,
  region: Region | undefined,
): ResponseMetadata {
  return {
    RequestId: requestId,
    ...(action === undefined ? {} : { Action: action }),
    ...(version === undefined ? {} : { Version: version }),
    Service: SERVICE,
    ...(region === 'overseas' ? { Region: region } : {}),
  }
}

const regions = new WeakMap<FastifyRequest, Region>()

/** Notes where what a request speaks of is kept: its failure tells it too. */
export function noteRegion(request: FastifyRequest, region: Region): void {
  regions.set(request, region)
}

/** Where what a request speaks of is kept; undefined until that was found out. */
export function regionOf(request: FastifyRequest): Region | undefined {
  return regions.get(request)
}

/** A path of members that may stand in a code: it comes from the caller. */
const MEMBER_PATH = /^(?=.{1,128}$)[A-Za-z]\w*(?:\.\w+|\[\d+\])*$/
/** Upstream's words for an input it refuses, such as `InvalidParameter.DownloadFailed`. */
const UPSTREAM_CODE = /^[A-Z][A-Za-z]{2,63}(?:\.[A-Z][A-Za-z]{1,63}){0,2}$/

function codeOf({ failure, rule, param, text }: Failure): string {
  const given = failure === 'refused_invalid' ? text('upstreamCode') : undefined
  if (given !== undefined && UPSTREAM_CODE.test(given)) return given
  const code = text('lacks') === undefined ? rule.code : MISSING
  const isNamed = code === INVALID || code === MISSING
  return isNamed && param !== undefined && MEMBER_PATH.test(param) ? `${code}.${param}` : code
}

const NO_ROUTE = `There is no such route: actions are asked for by POST /provA/?Action=<Action>&Version=${VERSION}`

const surface = createSurface(libraryFailures)

function envelopeFor(asked: Asked, region: Region | undefined): Envelope {
  return (error, requestId): Answer => {
    const failure = surface.read(error)
    const isRoute = failure.failure === 'route_not_found' && failure.param === undefined
    return {
      status: failure.rule.status,
      headers: failureHeaders(failure),
      body: {
        ResponseMetadata: {
          ...metadataOf(requestId, asked, region),
          Error: { Code: codeOf(failure), Message: isRoute ? NO_ROUTE : failure.message },
        },
      },
    }
  }
}

/** The error shape of the asset library, for a request of which only the URL is known. */
export function libraryEnvelope(url: string): Envelope {
  return envelopeFor(askedOf(url), undefined)
}

/** The same for one that was read. */
export function libraryEnvelopeOf(request: FastifyRequest): Envelope {
  return envelopeFor(askedOf(request.url), regionOf(request))
}
