import { unreachable } from '../../kernel/assert.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Decider } from '../decider.ts'
import type { VerificationEvent, VerificationEventData } from './events.ts'

type Started = VerificationEventData<'VerificationStarted'>

export type VerificationState =
  | { readonly phase: 'none' }
  | { readonly phase: 'started' | 'expired'; readonly verification: Started }
  | {
      readonly phase: 'confirmed'
      readonly verification: Started
      readonly nativeGroupId: string
      readonly confirmedAt: string
    }

/** A verification that is or was. */
type SomeVerification = Exclude<VerificationState, { readonly phase: 'none' }>

/** `at` is RFC 3339. */
export type VerificationCommand =
  | { readonly kind: 'start'; readonly verification: Started }
  | { readonly kind: 'confirm'; readonly nativeGroupId: string; readonly at: string }
  | { readonly kind: 'expire'; readonly at: string }

/** A verification is confirmed or expires; the first of the two stays. */
export const verificationDecider: Decider<
  VerificationState,
  VerificationCommand,
  VerificationEvent
> = {
  initial: { phase: 'none' },

  decide(command, state) {
    switch (command.kind) {
      case 'start':
        return state.phase === 'none'
          ? [{ type: 'VerificationStarted', data: command.verification }]
          : []
      case 'confirm': {
        if (state.phase !== 'started') return []
        const { verificationId, groupId } = state.verification
        const { nativeGroupId, at: confirmedAt } = command
        const data = { verificationId, groupId, nativeGroupId, confirmedAt }
        return [{ type: 'VerificationConfirmed', data }]
      }
      case 'expire': {
        if (state.phase !== 'started') return []
        const { verificationId } = state.verification
        return [{ type: 'VerificationExpired', data: { verificationId, expiredAt: command.at } }]
      }
      default:
        return unreachable(command)
    }
  },

  evolve(state, event) {
    if (event.type === 'VerificationStarted') return { phase: 'started', verification: event.data }
    // The first of its events is always its start.
    if (state.phase === 'none') return state
    const { verification } = state
    switch (event.type) {
      case 'VerificationConfirmed': {
        const { nativeGroupId, confirmedAt } = event.data
        return { phase: 'confirmed', verification, nativeGroupId, confirmedAt }
      }
      case 'VerificationExpired':
        return { phase: 'expired', verification }
      default:
        return unreachable(event)
    }
  },
}

/**
 * The verification, if this user of this tenant started it. Another user's, and an expired one,
 * reads exactly like a missing one (P8).
 * @throws DomainError `verification_not_found`
 */
export function ownVerification(
  state: VerificationState,
  { tenantId, userId }: Pick<Started, 'tenantId' | 'userId'>,
): SomeVerification {
  if (
    state.phase === 'none' ||
    state.phase === 'expired' ||
    state.verification.tenantId !== tenantId ||
    state.verification.userId !== userId
  )
    throw new DomainError('verification_not_found', 'the verification does not exist', {})
  return state
}
