import { Type } from 'typebox'
import {
  channelSettings,
  credentialHeader,
  credentialHeaderOf,
} from '../../app/channels/settings.ts'
import type { Channel } from '../../app/ports/provider.ts'

/** Settings of a channel of audio. */
interface AudioSettings {
  /** Upstream's names of voices by those that callers use; any other name is sent as it is. */
  readonly voices?: Readonly<Record<string, string>>
}

/** Upstream's name of a voice. */
export function voiceAt({ settings }: Pick<Channel, 'settings'>, name: string): string {
  const { voices }: AudioSettings = settings ?? {}
  return voices !== undefined && Object.hasOwn(voices, name) ? (voices[name] ?? name) : name
}

export const audioChannel = channelSettings(
  {
    ...credentialHeader,
    voices: Type.Optional(
      Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 256 }), {
        maxProperties: 1_000,
      }),
    ),
  },
  (entry) => {
    const { voices } = entry
    const settings: AudioSettings = voices === undefined ? {} : { voices }
    return { ...credentialHeaderOf(entry), settings }
  },
  { mayLackCredential: true },
)
