import type { ImageItemError } from '../../../app/image-ports.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { type DottedError, dottedError, readDottedError } from '../../kit/http/dotted-errors.ts'
import type { UpstreamError } from '../../kit/http/refusals.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'

/** As `InputTextSensitiveContentDetected` and `OutputImageSensitiveContentDetected.PolicyViolation`. */
const POLICY = /SensitiveContent|PolicyViolation/

/** The error envelope of this wire; undefined when it is none. */
export function readError(body: unknown): UpstreamError | undefined {
  const error = readDottedError(body)
  return (
    error && {
      ...error,
      code: knownCode(error),
      rateLimited: error.code?.includes('RateLimit') === true || error.code === 'ServerOverloaded',
      retryAfterMs: undefined,
    }
  )
}

/** Why one picture of several was not made, as callers are told. */
export function itemError(error: JsonObject, scrub: Scrubber): ImageItemError {
  const read = dottedError(error)
  return { code: knownCode(read) ?? 'upstream_error', message: scrub(read.message) }
}

/** Why there is none at all, out of what is said of each. */
export function failureOf(errors: readonly ImageItemError[]): {
  readonly code: 'content_policy_violation' | 'upstream_unavailable'
  readonly message: string
  readonly isBilled: boolean
} {
  const policy = errors.find(({ code }) => code === 'content_policy_violation')
  const message = (policy ?? errors[0])?.message ?? 'The model service made no image.'
  const code = policy === undefined ? 'upstream_unavailable' : 'content_policy_violation'
  return { code, message, isBilled: false }
}

function knownCode({ code }: DottedError): string | undefined {
  return code !== undefined && POLICY.test(code) ? 'content_policy_violation' : code
}
