import type { AssetFault } from '../../domain/asset/decider.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import type { ProviderError } from '../ports/provider.ts'
import { refusalOf } from '../ports/refusal.ts'

/** How a library fails, as its callers are told of it. */

/** What is kept of an upload that the library did not take, for a reason that is not its caller's. */
const NOT_TAKEN = {
  code: 'UploadRefused',
  message: 'The asset library could not take the upload; create it again.',
}
/** Its group was deleted while it was put there. */
const GROUP_GONE = {
  code: 'ResourceNotFound.AssetGroup',
  message: 'The asset group was deleted.',
}

/** Of a creation that the library certainly did not take. */
export function creationRefusal(error: ProviderError): DomainError {
  const { kind, code: upstreamCode, param, retryAfterMs, message } = error
  const details = { kind, upstreamCode, param, retryAfterMs }
  return new DomainError('submission_refused', message, details)
}

/** The same as it is kept with the asset: what its account is refused with is nobody's but ours. */
export function keptFault({ kind, code, message }: ProviderError): AssetFault {
  return kind === 'invalid' && code !== undefined ? { code, message } : NOT_TAKEN
}

/** What is kept of one that was not sent: what it stands on is gone, or nobody could look. */
export function unsentFault(error: unknown): AssetFault {
  return isDomainError(error, 'asset_group_not_found') ? GROUP_GONE : NOT_TAKEN
}

/** Of what was asked and changes nothing. */
export function askingRefusal(error: ProviderError): DomainError {
  const refusal = refusalOf(error)
  if (refusal.code !== 'upstream_unavailable') return refusal
  // In the words of the surface.
  return new DomainError(refusal.code, '', refusal.details)
}
