import { ProviderError } from '../../../app/ports/provider.ts'
import { isPositiveInt64 } from '../../../kernel/int64.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import type { ExchangeResponse } from '../http/exchange.ts'
import { losslessCount, textOf } from '../http/fields.ts'
import { fromResponse, isSuccess, type UpstreamError } from '../http/refusals.ts'
import type { Scrubber } from '../http/scrubber.ts'

/** An id of this wire, an integer of 64 bits: a number as long as a double holds it, or digits. */
export function idOf(value: unknown): string | undefined {
  const digits = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  return typeof digits === 'string' && isPositiveInt64(digits) ? digits : undefined
}

/** On this wire every answer is a 200, and `base_resp.status_code` is its outcome. */

/** The outcome that an answer states. */
interface BaseResp {
  /** 0 is success. */
  readonly code: number
  readonly message: string
}

/** The audio was made, and moderation then refused it. */
const OUTPUT_SENSITIVE = 1027

/** The HTTP status of each code, as other wires have it. */
const statuses: ReadonlyMap<number, number> = new Map(
  (
    [
      // A timeout behind the service: the work may have been done.
      [408, [1001]],
      [429, [1002, 1039, 1041, 2045, 2062]],
      [401, [1004, 2049]],
      [402, [1008, 1028, 1030, 2056, 2061]],
      [403, [2038]],
      [500, [1000, 1013, 1024, 1033]],
      [400, [1026, OUTPUT_SENSITIVE, 1042, 1043, 1044, 2013, 2037, 2039, 2042, 2048, 20132]],
    ] as const
  ).flatMap(([status, codes]) => codes.map((code) => [code, status] as const)),
)

export function baseRespOf(body: unknown): BaseResp | undefined {
  const said = isJsonObject(body) ? body['base_resp'] : undefined
  if (!isJsonObject(said)) return undefined
  const code = losslessCount(said['status_code'])
  return code === undefined ? undefined : { code, message: textOf(said['status_msg']) ?? '' }
}

/** The HTTP status of a failure; undefined for a success, and for a body without a code. */
export function statusOf(body: unknown): number | undefined {
  const said = baseRespOf(body)
  if (said === undefined || said.code === 0) return undefined
  return statuses.get(said.code) ?? 500
}

/** The envelope of a failure. */
export function readError(body: unknown): UpstreamError | undefined {
  const said = baseRespOf(body)
  if (said === undefined || said.code === 0) return undefined
  return {
    code: String(said.code),
    type: undefined,
    message: said.message,
    param: undefined,
    account: false,
    rateLimited: statuses.get(said.code) === 429,
    status: statuses.get(said.code),
    retryAfterMs: undefined,
  }
}

/** The failure in a complete answer; undefined for a success. */
export function refusalIn(
  body: unknown,
  { statusCode, headers }: Pick<ExchangeResponse, 'statusCode' | 'headers'>,
  scrub: Scrubber,
): ProviderError | undefined {
  const error = readError(body)
  const status = isSuccess(statusCode) ? statusOf(body) : statusCode
  if (status === undefined) return undefined
  if (Number(error?.code) === OUTPUT_SENSITIVE)
    return new ProviderError('invalid', 'certain', scrub(error?.message ?? ''), {
      code: error?.code,
    })
  return fromResponse({ statusCode: status, headers }, error, scrub)
}
