import type { FastifyRequest } from 'fastify'
import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import {
  createFailureReader,
  type Failure,
  failureHeaders,
  type SurfaceFailures,
} from '../../../api/kit/failures/surface-failures.ts'
import type { FailureCode } from '../../../api/kit/failures/failure-table.ts'
import {
  tokenFailures,
  refusedUpstream,
  withBody,
} from '../../../api/kit/failures/route-failures.ts'
import type { Channel } from '../../../app/ports/provider.ts'
import { type ActionRequest, actionRequestOf, VERSION } from './requests.ts'

/** Codes that have the field at fault after a dot: `InvalidParameter.Filter.Name`. */
const INVALID = 'InvalidParameter'
const MISSING = 'MissingParameter'

const AWAY = 'ServiceUnavailableTemp'
const UPSTREAM = 'InternalServiceError'

/** Failures after which upstream certainly did nothing. */
const notTaken = {
  code: UPSTREAM,
  words: 'The asset library could not process this request; nothing was created',
  ownWords: false,
} as const

/** The names of the asset library's failures, and their differences from the table. */
const libraryFailures = {
  route_not_found: 'InvalidActionOrVersion',
  method_not_allowed: 'MethodNotAllowed',
  url_invalid: INVALID,
  headers_too_large: INVALID,
  unauthenticated: 'InvalidCredential',
  wrong_token_kind: 'AccessDenied',
  address_not_allowed: 'AccessDenied',
  tenant_suspended: 'tenant_suspended',
  tenant_closed: 'tenant_closed',
  user_suspended: 'user_suspended',
  body_empty: MISSING,
  body_invalid: INVALID,
  body_too_large: INVALID,
  media_type_unsupported: INVALID,
  parameter_invalid: INVALID,
  overloaded: AWAY,
  outage: AWAY,
  internal: 'InternalError',
  invalid_request: INVALID,
  unknown_model: { code: INVALID, status: 400 },
  model_not_allowed: 'AccessDenied',
  rate_limited: 'FlowLimitExceeded',
  asset_not_found: 'ResourceNotFound.Asset',
  asset_group_not_found: 'ResourceNotFound.AssetGroup',
  verification_not_found: 'ResourceNotFound.VisualValidateSession',
  asset_action_not_enabled: 'InvalidAction',
  asset_region_mismatch: 'asset_region_mismatch',
  channel_not_available: 'channel_not_available',
  no_channel: {
    code: AWAY,
    words: 'The asset library is not available at the moment; nothing was started',
  },
  log_unavailable: AWAY,
  log_outcome_unknown: AWAY,
  wrong_expected_revision: AWAY,
  append_too_large: INVALID,
  database_unavailable: AWAY,
  storage_full: AWAY,
  read_model_behind: AWAY,
  submission_refused: notTaken,
  refused_invalid: {
    code: INVALID,
    words: 'The asset library refused this and gave no reason',
  },
  refused_rate_limited: {
    code: 'FlowLimitExceeded',
    words: 'The asset library is at its limit',
    ownWords: false,
  },
  refused_account: {
    code: AWAY,
    words: 'The asset library is not available to this gateway at the moment',
  },
  refused_unavailable: notTaken,
  refused_timeout: notTaken,
  refused_malformed: notTaken,
  upstream_unavailable: {
    code: UPSTREAM,
    words: 'The asset library cannot be asked at the moment',
  },
  upstream_timeout: {
    code: 'InternalServiceTimeout',
    words: 'The asset library did not answer in time',
    ownWords: false,
  },
  upstream_malformed: {
    code: UPSTREAM,
    words: 'The asset library gave an unreadable answer',
    ownWords: false,
  },
} as const satisfies SurfaceFailures

/** The failures of every action. */
export const actionFailures: readonly FailureCode[] = [
  ...tokenFailures,
  ...withBody,
  'body_empty',
  'overloaded',
  'route_not_found',
  'invalid_request',
  'unknown_model',
  'model_not_allowed',
  'tenant_suspended',
  'user_suspended',
  'asset_not_found',
  'asset_group_not_found',
  'verification_not_found',
  'asset_action_not_enabled',
  'asset_region_mismatch',
  'channel_not_available',
  'no_channel',
  'log_unavailable',
  'log_outcome_unknown',
  'wrong_expected_revision',
  'append_too_large',
  'database_unavailable',
  'storage_full',
  'read_model_behind',
  'submission_refused',
  ...refusedUpstream,
  'upstream_unavailable',
  'upstream_timeout',
  'upstream_malformed',
]

type Region = Channel['region']

/** The service name in every answer, whichever account keeps the library. */
const SERVICE = 'assets'

/** Metadata of the request in every answer. */
interface ResponseMetadata {
  readonly RequestId: string
  readonly Action?: string
  readonly Version?: string
  readonly Service: typeof SERVICE
  readonly Region?: 'overseas'
}

/** `region` is the region of the asset, if known: callers see only `overseas`. */
export function metadataOf(
  requestId: string,
  { action, version }: ActionRequest,
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

/** Records the region of the asset or group in a request: a failure reports it too. */
export function noteRegion(request: FastifyRequest, region: Region): void {
  regions.set(request, region)
}

/** The region of the asset or group in a request; undefined until it is known. */
export function regionOf(request: FastifyRequest): Region | undefined {
  return regions.get(request)
}

/** A path of members that may be part of a code, because it comes from the caller. */
const MEMBER_PATH = /^(?=.{1,128}$)[A-Za-z]\w*(?:\.\w+|\[\d+\])*$/
/** Upstream's codes for a refused input, such as `InvalidParameter.DownloadFailed`. */
const UPSTREAM_CODE = /^[A-Z][A-Za-z]{2,63}(?:\.[A-Z][A-Za-z]{1,63}){0,2}$/

function codeOf({ failure, code: named, param, text }: Failure): string {
  const given = failure === 'refused_invalid' ? text('upstreamCode') : undefined
  if (given !== undefined && UPSTREAM_CODE.test(given)) return given
  const code = text('keyword') === 'required' ? MISSING : named
  const isNamed = code === INVALID || code === MISSING
  return isNamed && param !== undefined && MEMBER_PATH.test(param) ? `${code}.${param}` : code
}

const HOW_TO_ASK = `send actions by POST /provA/?Action=<Action>&Version=${VERSION}`

const readFailure = createFailureReader(libraryFailures)

function envelopeFor(asked: ActionRequest, region: Region | undefined): Envelope {
  return (error, requestId): Answer => {
    const failure = readFailure(error)
    const { message } = failure
    const isRoute = /^(?:route_not_found|method_not_allowed)$/.test(failure.failure)
    return {
      status: failure.status,
      headers: failureHeaders(failure),
      body: {
        ResponseMetadata: {
          ...metadataOf(requestId, asked, region),
          Error: {
            Code: codeOf(failure),
            Message: isRoute && failure.param === undefined ? `${message}; ${HOW_TO_ASK}` : message,
          },
        },
      },
    }
  }
}

/** The error shape of the asset library, for a request of which only the URL was read. */
export function libraryEnvelope(url: string): Envelope {
  return envelopeFor(actionRequestOf(url), undefined)
}

/** The shape for a request that was read. */
export function libraryEnvelopeOf(request: FastifyRequest): Envelope {
  return envelopeFor(actionRequestOf(request.url), regionOf(request))
}
