import { Type, type Static } from '@sinclair/typebox'
import type { FactsOf } from '../event-facts.ts'

/** A cloned voice of a tenant, under the name that its callers use. */
export const voiceEvents = {
  /**
   * Written before the call that cloned it is settled, and again if upstream had deleted the voice
   * and cloned it once more.
   */
  VoiceCloned: Type.Object({
    /** Name given by the tenant's callers. */
    voiceId: Type.String(),
    tenantId: Type.String(),
    userId: Type.String(),
    tokenId: Type.String(),
    /** The request that cloned it; the settlement of its call names the same one. */
    requestId: Type.String(),
    /** The account that has the voice, and its name there: no other account has it. */
    channelId: Type.String(),
    upstreamVoiceId: Type.String(),
    /** The upload it was made of. */
    sourceFileId: Type.String(),
    clonedAt: Type.String(),
  }),
} as const

export const voiceFacts: FactsOf<typeof voiceEvents> = {
  // A voice belongs to the account, as users do: it may be cloned again under its name. Its call is settled by itself.
  VoiceCloned: {
    source: () => undefined,
    at: (d) => d.clonedAt,
    words: (d) => `${d.voiceId} of ${d.sourceFileId}`,
  },
}

type VoiceEventType = keyof typeof voiceEvents
export type VoiceEventData<T extends VoiceEventType> = Static<(typeof voiceEvents)[T]>
export type VoiceEvent = {
  readonly [T in VoiceEventType]: { readonly type: T; readonly data: VoiceEventData<T> }
}[VoiceEventType]

/** Prefix of the names of these streams. */
export const voiceStreams = 'voice-'

/** Key that is unique over all tenants: a voice's own name has no slash. */
export function voiceKey({
  tenantId,
  voiceId,
}: Pick<VoiceEventData<'VoiceCloned'>, 'tenantId' | 'voiceId'>): string {
  return `${tenantId}/${voiceId}`
}

/** Name of the stream of one voice. */
export function voiceStream(key: Parameters<typeof voiceKey>[0]): string {
  return `${voiceStreams}${voiceKey(key)}`
}
