import type { FastifyRequest, FastifySchema } from 'fastify'
import { type Static, type TSchema, Type } from 'typebox'
import {
  answer,
  costHeaderNames,
  type DescribedHeader,
  failureResponses,
} from '../../../api/kit/routes/documentation.ts'
import { callFailures as ofEveryCall } from '../../../api/kit/failures/call-failures.ts'
import {
  afterAcceptance,
  afterSending,
  createFailureReader,
  type Failure,
  failureHeaders,
  type SurfaceFailures,
} from '../../../api/kit/failures/surface-failures.ts'
import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import type { FailureStatus } from '../../../api/kit/failures/failure-row.ts'
import type { FailureCode } from '../../../api/kit/failures/failure-table.ts'
import {
  numberedFailures,
  INVALID,
  numberedMessage,
  RATE_LIMITED,
  UNKNOWN_ERROR,
} from '../../../api/kit/failures/numbered-failures.ts'
import { creationFailures as ofEveryCreation } from '../../../api/kit/failures/route-failures.ts'

/** Further numbers of `base_resp.status_code` in this version. */
const TIMEOUT = '1001'
const DOWNSTREAM = '1033'
const DUPLICATE_VOICE = '2039'
const NO_SUCH_VOICE = '2042'

/** A missing thing is a wrong parameter on this wire, answered with HTTP 200. */
const notFound = { code: INVALID, status: 400 } as const

/** The failures of every route of `/provB/v1`. */
const speechFailures = {
  ...numberedFailures,
  route_not_found: INVALID,
  no_channel: UNKNOWN_ERROR,
  // The account that has the voice, or its sample, is unavailable.
  kept_unavailable: {
    code: UNKNOWN_ERROR,
    words:
      'The voice or its file is at an account that is not available at the moment; nothing was started',
  },
  voice_not_found: { code: NO_SUCH_VOICE, status: 400 },
  voice_exists: { code: DUPLICATE_VOICE, status: 400 },
  file_not_found: notFound,
  task_not_found: notFound,
  result_not_available: notFound,
  storage_not_configured: UNKNOWN_ERROR,
  storage_unavailable: UNKNOWN_ERROR,
  object_too_large: INVALID,
  storage_full: UNKNOWN_ERROR,
  upload_quota_reached: RATE_LIMITED,
  idempotency_in_progress: RATE_LIMITED,
  idempotency_answer_not_kept: INVALID,
  submission_refused: DOWNSTREAM,
  submission_uncertain: DOWNSTREAM,
  call_refused: DOWNSTREAM,
  refused_unavailable: DOWNSTREAM,
  refused_timeout: TIMEOUT,
  refused_malformed: DOWNSTREAM,
  upstream_unavailable: DOWNSTREAM,
  upstream_overloaded: { code: DOWNSTREAM, status: 503 },
  upstream_timeout: TIMEOUT,
  call_cut_off: UNKNOWN_ERROR,
  upstream_malformed: DOWNSTREAM,
} as const satisfies SurfaceFailures

const ofVoices: readonly FailureCode[] = ['voice_not_found', 'kept_unavailable']

/** The failures of a call, before and after it is sent. */
export const callFailures: readonly FailureCode[] = [...ofEveryCall, ...ofVoices]

/** Failures of the creation of a task. */
export const creationFailures: readonly FailureCode[] = [
  ...ofEveryCreation.filter((failure) => failure !== 'invalid_duration'),
  ...ofVoices,
]

/** Statuses that this wire answers with HTTP 200: its clients read only `base_resp`. */
const reportedInBody: ReadonlySet<FailureStatus> = new Set([400, 402, 422])

/** Upstream's error numbers for a refused input, which show callers what to correct. */
const inputCodes: ReadonlySet<string> = new Set(
  '1026 1027 1042 1043 1044 2013 2037 2039 2042 2048 20132'.split(' '),
)

function codeOf({ failure, code, text }: Failure): string {
  const given = failure === 'refused_invalid' ? text('upstreamCode') : undefined
  return given !== undefined && inputCodes.has(given) ? given : code
}

const readFailure = createFailureReader(speechFailures)

/** A failure as a body, or as a frame of a stream. */
function bodyOf(failure: Failure, requestId: string) {
  return {
    base_resp: { status_code: Number(codeOf(failure)), status_msg: numberedMessage(failure) },
    trace_id: requestId,
  }
}

/** A failure in the middle of a stream. */
export function failureFrame(error: unknown, requestId: string): unknown {
  return bodyOf(afterSending(readFailure(error)), requestId)
}

/** The error shape of `/provB/v1`: `{base_resp: {status_code, status_msg}, trace_id}`. */
export const provBV1Envelope: Envelope = (error, requestId): Answer => {
  const failure = afterAcceptance(afterSending(readFailure(error)))
  const { status } = failure
  return {
    status: reportedInBody.has(status) ? 200 : status,
    headers: failureHeaders(failure),
    body: bodyOf(failure, requestId),
  }
}

/** Members of every answer, including failures. */
export const BaseRespSchema = Type.Object(
  {
    status_code: Type.Integer({ description: '0 is success.' }),
    status_msg: Type.String(),
  },
  { named: 'BaseResp' },
)

export const TraceId = Type.String({ description: 'Our id of the request.' })

const ErrorSchema = Type.Object(
  { base_resp: BaseRespSchema, trace_id: TraceId },
  { named: 'ProvBV1Failure' },
)

const shape = {
  envelope: provBV1Envelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { status_code: code, status_msg: message } = (body as Static<typeof ErrorSchema>)
      .base_resp
    return { name: String(code), message }
  },
}

interface DescribedFailure {
  readonly description?: string
  readonly examples?: readonly unknown[]
}

/** The OpenAPI description of a `/provB/v1` route, including its failures. */
export function describeSpeech(route: {
  readonly tag: 'Speech' | 'Files'
  readonly operationId: string
  readonly summary: string
  /** Undefined: it is no JSON. */
  readonly ok: TSchema | undefined
  /** Further media types of the answer, each with a description. */
  readonly others?: Readonly<Record<string, string>>
  readonly failures: readonly FailureCode[]
  readonly further?: readonly Error[]
  /** Whether the answer reports its cost. */
  readonly costs?: boolean
  /** Headers of its answers, including failures. */
  readonly headers?: readonly DescribedHeader[]
}): FastifySchema {
  const { ok, others = {}, failures, further, headers = [] } = route
  const { 200: failed, ...refused } = failureResponses(shape, failures, further, headers)
  const { description = '', examples = [] }: DescribedFailure = Object(failed)
  const failuresWith200 =
    failed === undefined ? '' : `\n\nFailures with HTTP status 200:\n\n${description}`
  const jsons = [...(ok === undefined ? [] : [ok]), ...(failed === undefined ? [] : [ErrorSchema])]
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    security: [{ modelToken: [] }],
    response: {
      200: answer({
        ...(jsons.length === 0 ? {} : { json: jsons.length > 1 ? Type.Union(jsons) : jsons[0] }),
        examples: Object.fromEntries(
          examples.map((value) => [`failure ${shape.read(value).name}`, { value }]),
        ),
        what: `\`base_resp.status_code\` 0 is success.${failuresWith200}`,
        others,
        headers: route.costs === true ? [...headers, ...costHeaderNames] : headers,
      }),
      ...refused,
    },
  }
}

/** Official clients name their account in every query; the gateway ignores it. */
export const ofAccount = { GroupId: Type.Optional(Type.String({ description: 'Ignored.' })) }

/** Members of every successful answer. */
export function succeeded({ id }: FastifyRequest) {
  return { trace_id: id, base_resp: { status_code: 0, status_msg: 'success' } } as const
}
