import { Type } from 'typebox'
import {
  channelSettings,
  credentialHeader,
  credentialHeaderOf,
} from '../../app/channels/settings.ts'
import type { Channel } from '../../app/ports/provider.ts'

/** Settings of a channel of speech. */
interface SpeechSettings {
  /** `hex`: where hexadecimal is asked for, it answers the bytes of the audio alone. */
  readonly audioMode?: 'json' | 'hex'
}

export function speechSettings({ settings }: Pick<Channel, 'settings'>): SpeechSettings {
  return settings ?? {}
}

export const speechChannel = channelSettings(
  { ...credentialHeader, audio_mode: Type.Optional(Type.Enum(['json', 'hex'])) },
  (entry) => {
    const { audio_mode: audioMode } = entry
    const settings: SpeechSettings = audioMode === undefined ? {} : { audioMode }
    return { ...credentialHeaderOf(entry), settings }
  },
)
