import type { FamilyModule } from '../module.ts'
import { createAudioSpeaker } from './calls/speaker.ts'
import { AUDIO, audioRules } from './rules/rules.ts'
import { audioChannel } from './settings.ts'
import { createAudioProvider } from './upstream/client.ts'

/** Speech of any server on the wire of official clients, for `/v1/audio/speech` alone. */
export const audio: FamilyModule = {
  rules: { name: AUDIO, calls: audioRules, endpoints: () => ['/v1/audio/speech'] },
  channel: audioChannel,
  sandbox: [
    {
      id: 'sandbox-audio',
      family: AUDIO,
      path: '/audio/v1',
      models: { 'audio-basic': 'reader-1' },
      settings: { voices: { alloy: 'reader-voice-1' } },
    },
  ],
  open: () => {
    const provider = createAudioProvider()
    return { speaker: createAudioSpeaker(provider), close: provider.close }
  },
}
