import { voiceDecider } from '../../../domain/voice/decider.ts'
import { type VoiceEvent, voiceKey, voiceStream } from '../../../domain/voice/events.ts'
import { isVoiceName } from '../../../domain/voice/name.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import type { ClonedVoice, FindVoice } from '../ports.ts'

/** The oldest are forgotten first: they are read from the log again. */
const MAX_VOICES = 10_000

/** The voices of tenants. */
export interface VoiceBook {
  readonly find: FindVoice
}

/** Where a name leads never changes: what was found once is right for ever, and costs no second reading. */
export function createVoiceBook(log: Pick<EventLog, 'readStream'>): VoiceBook {
  const known = new BoundedMap<string, ClonedVoice>(MAX_VOICES)
  return {
    find: async (tenantId, voiceId) => {
      // What is no name of a voice names no stream.
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
  // A stream holds only events of its own aggregate: its name comes from that aggregate.
  const state = (events as readonly VoiceEvent[]).reduce(voiceDecider.evolve, voiceDecider.initial)
  if (state.phase === 'none') return undefined
  const { upstreamVoiceId, channelId } = state.voice
  return { upstreamVoiceId, channelId }
}
