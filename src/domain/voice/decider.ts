import { DomainError } from '../../kernel/errors.ts'
import type { Decider } from '../decider.ts'
import type { VoiceEvent, VoiceEventData } from './events.ts'

const SHORTEST_NAME = 8
const LONGEST_NAME = 256

/** Whether a text can name a voice: it begins with a letter and does not end in `-` or `_`. */
export function isVoiceName(text: string): boolean {
  return (
    text.length >= SHORTEST_NAME &&
    text.length <= LONGEST_NAME &&
    /^[A-Za-z][\w-]*[A-Za-z\d]$/.test(text)
  )
}

type Cloned = VoiceEventData<'VoiceCloned'>

/** One name of a voice in a tenant. */
export type VoiceState =
  | { readonly phase: 'none' }
  | { readonly phase: 'cloned'; readonly voice: Cloned }

export interface VoiceCommand {
  readonly kind: 'clone'
  readonly voice: Cloned
}

/**
 * A name refers to one voice for ever. It is cloned again only if upstream accepts the same voice
 * again, which happens after upstream has deleted it.
 *
 * @throws DomainError `voice_exists`
 */
export const voiceDecider: Decider<VoiceState, VoiceCommand, VoiceEvent> = {
  initial: { phase: 'none' },
  decide: ({ voice }, state) => {
    if (state.phase === 'cloned' && !isSameVoice(state.voice, voice)) throw voiceExists()
    return [{ type: 'VoiceCloned', data: voice }]
  },
  evolve: (_state, event) => ({ phase: 'cloned', voice: event.data }),
}

function isSameVoice(a: Cloned, b: Cloned): boolean {
  return a.channelId === b.channelId && a.upstreamVoiceId === b.upstreamVoiceId
}

/** The error for a name that is taken. */
export function voiceExists(): DomainError {
  return new DomainError('voice_exists', '`voice_id` is already the name of one of your voices', {
    param: 'voice_id',
  })
}
