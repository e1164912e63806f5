import type { FastifySchema } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import {
  answer,
  costHeaderNames,
  type DescribedHeader,
} from '../../../api/kit/answer-documentation.ts'
import { failureResponses } from '../../../api/kit/failure-documentation.ts'
import type { FailureCode } from '../../../api/kit/failure-table.ts'
import { provBV1Envelope } from './envelope.ts'

/** What every answer has, failures included. */
export const BaseRespSchema = Type.Object({
  status_code: Type.Integer({ description: '0 is success.' }),
  status_msg: Type.String(),
})

export const TraceId = Type.String({ description: 'Our id of the request.' })

const ErrorSchema = Type.Object({ base_resp: BaseRespSchema, trace_id: TraceId })

const shape = {
  envelope: provBV1Envelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { status_code: code, status_msg: message } = (body as Static<typeof ErrorSchema>)
      .base_resp
    return { name: String(code), message }
  },
}

/** What the OpenAPI description says of a `/provB/v1` route, its failures included. */
export function describe(route: {
  readonly tag: 'Speech' | 'Files'
  readonly operationId: string
  readonly summary: string
  /** Undefined: it is no JSON. */
  readonly ok: TSchema | undefined
  /** What else it may be sent as, by media type: what its text is. */
  readonly others?: Readonly<Record<string, string>>
  readonly failures: readonly FailureCode[]
  readonly further?: readonly Error[]
  /** It says what it was settled at. */
  readonly costs?: boolean
  /** What its answers carry, failures included. */
  readonly headers?: readonly DescribedHeader[]
}): FastifySchema {
  const { ok, others = {}, failures, further, headers = [] } = route
  const { 200: told, ...refused } = failureResponses(shape, failures, further, headers)
  const told200 =
    told === undefined
      ? ''
      : `\n\nFailures that are told with 200:\n\n${String(Reflect.get(told, 'description'))}`
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    security: [{ modelToken: [] }],
    response: {
      200: answer({
        ...(ok === undefined ? {} : { json: ok }),
        what: `\`base_resp.status_code\` 0 is success.${told200}`,
        others,
        headers: route.costs === true ? [...headers, ...costHeaderNames] : headers,
      }),
      ...refused,
    },
  }
}
