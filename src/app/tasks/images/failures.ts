import { DomainError } from '../../../kernel/errors.ts'
import { ProviderError } from '../../ports/provider.ts'
import type { AnsweredImages } from './results.ts'

/** Why there are no pictures, in fixed texts, because upstream's may quote a prompt (P7). */
export interface ImageTaskFailure {
  /** The code that callers see. */
  readonly code: string
  readonly message: string
  /** The provider may charge for the work it did. */
  readonly possibleCostLeak: boolean
}

/** The outcome of sending an order. */
export type SendOutcome =
  | ({ readonly kind: 'answered' } & AnsweredImages)
  | { readonly kind: 'failed'; readonly failure: ImageTaskFailure }
  /** Whether the provider accepted the request is not known. */
  | { readonly kind: 'uncertain'; readonly reason: string }

const words: Readonly<Record<string, string>> = {
  content_policy_violation: 'The request was rejected by the content policy.',
  no_image_generated: 'The model service made no image.',
  suspected_black_image_from_upstream: 'The model service gave a black image; it is not billed.',
  invalid_value: 'The model service refused the request as not valid.',
  model_unavailable: 'The model is not available at the moment; nothing was started.',
  rate_limit_exceeded: 'The model service is at its limit; nothing was started.',
  upstream_unavailable: 'The model service could not be reached; nothing was started.',
  upstream_timeout: 'The model service did not answer in time; nothing was started.',
  upstream_error: 'The model service gave an unreadable answer; it is not billed.',
  storage_unavailable: 'The images were made and could not be kept; they are not billed.',
  waited_too_long: 'The images waited too long to be begun; nothing was started.',
  request_lost: 'The request could not be read any more; nothing was started.',
}

export function imageTaskFailure(code: string, possibleCostLeak: boolean): ImageTaskFailure {
  return { code, message: words[code] ?? 'The images could not be made.', possibleCostLeak }
}

const codeByKind = {
  account: 'model_unavailable',
  rate_limited: 'rate_limit_exceeded',
  unavailable: 'upstream_unavailable',
  timeout: 'upstream_timeout',
  malformed: 'upstream_error',
} as const

/** The meaning of a provider's failure for a task whose creation the gateway has answered. */
export function sentOf(error: ProviderError): SendOutcome {
  const { kind, acceptance, code } = error
  // An unreadable answer is the only answer: there is nothing to wait for.
  if (acceptance === 'unknown' && kind !== 'malformed') return { kind: 'uncertain', reason: kind }
  const mayCost = acceptance !== 'ruled_out'
  if (kind !== 'invalid')
    return { kind: 'failed', failure: imageTaskFailure(codeByKind[kind], mayCost) }
  const known = code === 'content_policy_violation' ? code : 'invalid_value'
  return { kind: 'failed', failure: imageTaskFailure(known, mayCost) }
}

/** Why an answer's pictures are not delivered; the provider answered, so it may charge. */
export function undeliverable(error: unknown): ImageTaskFailure {
  if (error instanceof DomainError && error.code === 'suspected_black_image')
    return imageTaskFailure('suspected_black_image_from_upstream', true)
  if (error instanceof ProviderError) return imageTaskFailure('upstream_error', true)
  return imageTaskFailure('storage_unavailable', true)
}
