/** How each surface says that something failed, and with which statuses. */

type Fields = Readonly<Record<string, unknown>>

export interface FailureShape {
  /** That callers may meet while anything at all is broken. */
  readonly statuses: ReadonlySet<number>
  readonly isFailure: (body: Fields, status: number) => boolean
  /** The status an answer would have, where its body alone says that something failed. */
  readonly statusOf?: (body: Fields, method: string) => number | undefined
}

/** Numbers of `base_resp`: no credit; a wrong parameter, which the id of nothing is too. */
const NO_BALANCE = 1008
const INVALID = 2013

const common = [200, 400, 402, 404, 409, 429, 502, 503]

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function hasTexts(fields: Fields, names: readonly string[]): boolean {
  return names.every((name) => typeof fields[name] === 'string')
}

const provA: FailureShape = {
  statuses: new Set(common),
  isFailure: ({ error }) => hasTexts(fieldsOf(error), ['code', 'message', 'param', 'type']),
}

const library: FailureShape = {
  statuses: new Set([...common, 403, 504]),
  isFailure: ({ ResponseMetadata: metadata }) => {
    const { Error: error, RequestId: id } = fieldsOf(metadata)
    return hasTexts({ id }, ['id']) && hasTexts(fieldsOf(error), ['Code', 'Message'])
  },
}

const shapes: readonly (readonly [prefix: string, FailureShape])[] = [
  ['/provA/?', library],
  ['/provA/', provA],
  [
    '/provB/v2/',
    {
      statuses: new Set([...common, 422]),
      isFailure: ({ type, error, request_id: requestId }, status) => {
        const fields = fieldsOf(error)
        return (
          type === 'error' &&
          typeof requestId === 'string' &&
          hasTexts(fields, ['type', 'message', 'http_code']) &&
          fields['http_code'] === String(status)
        )
      },
    },
  ],
  [
    '/provB/v1/',
    {
      statuses: new Set([...common, 504]),
      isFailure: ({ base_resp: base, trace_id: traceId }) => {
        const { status_code: code, status_msg: message } = fieldsOf(base)
        return (
          typeof code === 'number' &&
          code !== 0 &&
          hasTexts({ message, traceId }, ['message', 'traceId'])
        )
      },
      statusOf: ({ base_resp: base }, method) => {
        const { status_code: code = 0 } = fieldsOf(base)
        if (code === 0) return undefined
        if (code === NO_BALANCE) return 402
        return code === INVALID && method === 'GET' ? 404 : 400
      },
    },
  ],
  [
    '/provC/',
    {
      statuses: new Set(common),
      isFailure: ({ code, reason, message, metadata }, status) =>
        code === status &&
        hasTexts({ reason, message }, ['reason', 'message']) &&
        hasTexts(fieldsOf(metadata), ['trace_id']),
    },
  ],
  [
    '/v1/',
    {
      statuses: new Set([...common, 422, 504]),
      isFailure: ({ error }) => {
        const fields = fieldsOf(error)
        const { param } = fields
        return (
          hasTexts(fields, ['code', 'message', 'type']) &&
          (param === null || typeof param === 'string')
        )
      },
    },
  ],
]

/** @throws RangeError for a path of no surface */
export function envelopeOf(path: string): FailureShape {
  const found = shapes.find(([prefix]) => path.startsWith(prefix))
  if (found === undefined) throw new RangeError(`no surface has the path ${path}`)
  return found[1]
}
