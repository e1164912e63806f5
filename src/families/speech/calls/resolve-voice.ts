import { isBuiltInVoice } from '../rules/voices.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { FindVoice } from '../ports.ts'

/** A voice as upstream is asked for it. */
export interface ResolvedVoice {
  readonly voiceId: string
  /** The only account that has it; absent: every one has. */
  readonly channelId?: string
}

/** @throws DomainError `voice_not_found`, and what `FindVoice` throws */
export type ResolveVoice = (tenantId: string, voiceId: string) => Promise<ResolvedVoice>

/**
 * From a caller's word for a voice to upstream's: one that everybody may use, or one that its tenant has
 * cloned. Nothing else is ever sent, so that no voice of another tenant's can be named (P8).
 */
export function createResolveVoice(findVoice: FindVoice): ResolveVoice {
  return async (tenantId, voiceId) => {
    if (isBuiltInVoice(voiceId)) return { voiceId }
    const cloned = await findVoice(tenantId, voiceId)
    if (cloned === undefined) throw unknownVoice({})
    return { voiceId: cloned.upstreamVoiceId, channelId: cloned.channelId }
  }
}

/** One answer for a voice that does not exist and for one of somebody else's. */
export function unknownVoice(details: Readonly<Record<string, unknown>>): DomainError {
  return new DomainError('voice_not_found', '', details)
}
