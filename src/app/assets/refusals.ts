import type { AssetFault } from '../../domain/asset/decider.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import type { ProviderError } from '../ports/provider.ts'
import { refusalOf } from '../channels/refusal.ts'

/** Failures of a library, as its callers see them. */

/** The fault recorded when the library refused an upload for a reason that is not the caller's. */
const NOT_TAKEN = {
  code: 'UploadRefused',
  message: 'The asset library could not take the upload; create it again.',
}
/** The asset's group was deleted during the upload. */
const GROUP_GONE = {
  code: 'ResourceNotFound.AssetGroup',
  message: 'The asset group was deleted.',
}

/** For a creation that the library certainly did not accept. */
export function creationRefusal(error: ProviderError): DomainError {
  const { kind, code: upstreamCode, param, retryAfterMs, message } = error
  const details = { kind, upstreamCode, param, retryAfterMs }
  return new DomainError('submission_refused', message, details)
}

/** The refusal recorded with the asset: reasons that concern our account are left out. */
export function keptFault({ kind, code, message }: ProviderError): AssetFault {
  return kind === 'invalid' && code !== undefined ? { code, message } : NOT_TAKEN
}

/** The fault of an upload that was not sent: prerequisites are gone, or were not checked. */
export function unsentFault(error: unknown): AssetFault {
  return isDomainError(error, 'asset_group_not_found') ? GROUP_GONE : NOT_TAKEN
}

/** The refusal of a request that changes nothing. */
export function queryRefusal(error: ProviderError): DomainError {
  const refusal = refusalOf(error)
  if (refusal.code !== 'upstream_unavailable') return refusal
  // The surface has its own message.
  return new DomainError(refusal.code, '', refusal.details)
}
