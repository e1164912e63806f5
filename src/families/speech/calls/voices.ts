import { createLru } from '../../../kernel/lru.ts'
import { voiceDecider, isVoiceName } from '../../../domain/voice/decider.ts'
import { type VoiceEvent, voiceKey, voiceStream } from '../../../domain/voice/events.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { ClonedVoice, FindVoice } from '../ports.ts'
import { isBuiltInVoice } from '../rules/voices.ts'

/** The oldest are forgotten first: they are read from the log again. */
const MAX_VOICES = 10_000

/** The voices of tenants. */
export interface VoiceBook {
  readonly find: FindVoice
}

/** The voice of a name never changes: a found one is valid for ever and is not read again. */
export function createVoiceBook(log: Pick<EventLog, 'readStream'>): VoiceBook {
  const known = createLru<string, ClonedVoice>(MAX_VOICES)
  return {
    find: async (tenantId, voiceId) => {
      // An invalid name names no stream.
      if (!isVoiceName(voiceId)) return undefined
      const key = voiceKey({ tenantId, voiceId })
      const found = known.get(key) ?? (await read(log, tenantId, voiceId))
      if (found !== undefined) known.set(key, found)
      return found
    },
  }
}

async function read(
  log: Pick<EventLog, 'readStream'>,
  tenantId: string,
  voiceId: string,
): Promise<ClonedVoice | undefined> {
  const events = await log.readStream(voiceStream({ tenantId, voiceId }))
  // A stream holds only events of one aggregate: its name comes from that aggregate.
  const state = (events as readonly VoiceEvent[]).reduce(voiceDecider.evolve, voiceDecider.initial)
  if (state.phase === 'none') return undefined
  const { upstreamVoiceId, channelId } = state.voice
  return { upstreamVoiceId, channelId }
}

/** A voice in a request to upstream. */
interface ResolvedVoice {
  readonly voiceId: string
  /** The only account that has it; absent: every account has it. */
  readonly channelId?: string
}

/** @throws DomainError `voice_not_found`, and errors of `FindVoice` */
export type ResolveVoice = (tenantId: string, voiceId: string) => Promise<ResolvedVoice>

/**
 * Resolves a caller's name of a voice to upstream's: a voice that every tenant may use, or one that
 * the tenant has cloned. The gateway sends nothing else, so that a caller cannot name another
 * tenant's voice (P8).
 */
export function createResolveVoice(findVoice: FindVoice): ResolveVoice {
  return async (tenantId, voiceId) => {
    if (isBuiltInVoice(voiceId)) return { voiceId }
    const cloned = await findVoice(tenantId, voiceId)
    if (cloned === undefined) throw unknownVoice({})
    return { voiceId: cloned.upstreamVoiceId, channelId: cloned.channelId }
  }
}

/** A voice that does not exist and a voice of another tenant get the same answer. */
export function unknownVoice(details: Readonly<Record<string, unknown>>): DomainError {
  return new DomainError('voice_not_found', '', details)
}
