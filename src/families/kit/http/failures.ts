import { type Acceptance, ProviderError } from '../../../app/ports.ts'
import { unreachable } from '../../../kernel/assert.ts'
import type { ExchangeError } from './exchange-error.ts'

/** From a failed exchange to a provider error that says what may have been accepted. */

/** An exchange without a complete answer: what was never sent was never accepted. */
export function fromExchange(error: ExchangeError): ProviderError {
  const acceptance: Acceptance = error.sent ? 'unknown' : 'ruled_out'
  const details = { cause: error }
  switch (error.reason) {
    case 'timeout':
    case 'aborted':
      return new ProviderError(
        'timeout',
        acceptance,
        'The model service did not answer in time.',
        details,
      )
    case 'network':
      return new ProviderError(
        'unavailable',
        acceptance,
        'The model service could not be reached.',
        details,
      )
    case 'too_large':
      return malformed(error)
    default:
      return unreachable(error.reason)
  }
}

/** An answer that cannot be understood; what it stood for may have been accepted. */
export function malformed(cause?: unknown): ProviderError {
  return new ProviderError(
    'malformed',
    'unknown',
    'The model service gave an answer that could not be read.',
    { cause },
  )
}
