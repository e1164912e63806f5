import { VOICE_CLONE } from './rules/voices.ts'
import { SPEECH, speechCallRules, speechTaskRules } from './rules/rules.ts'
import { speechChannel } from './settings.ts'
import { openSpeech } from './calls/clone.ts'
import { createMediaProvider } from '../kit/media/files.ts'
import type { FamilyModule } from '../module.ts'
import { createVoiceSpeaker } from './calls/speaker.ts'
import { provBV1, provBV1Surfaces } from './surface/routes.ts'
import { createCloneProvider, createSpeechProvider } from './upstream/client.ts'
import { createSpeechTaskProvider } from './upstream/tasks.ts'

const ofVoices = { model: VOICE_CLONE, maxBytes: 20 * 1024 * 1024 }

/** Synchronous and asynchronous speech, and voices that are cloned for it. */
export const speech: FamilyModule = {
  rules: {
    name: SPEECH,
    tasks: speechTaskRules,
    calls: speechCallRules,
    uploads: { voice_clone: ofVoices, prompt_audio: ofVoices },
    endpoints: (model) =>
      model === VOICE_CLONE
        ? ['/provB/v1/voice_clone']
        : ['/v1/audio/speech', '/provB/v1/t2a_v2', '/provB/v1/t2a_async_v2'],
  },
  channel: speechChannel,
  sandbox: [
    {
      id: 'sandbox-speech',
      family: 'speech',
      path: '/speech',
      models: {
        'speech-2.8-hd': 'voicer-2.8-hd',
        'speech-2.8-turbo': 'voicer-2.8-turbo',
        'speech-2.6-hd': 'voicer-2.6-hd',
        'voice-clone': 'voice-clone',
      },
    },
  ],
  mounts: [provBV1],
  open: (deps) => {
    const [provider, tasks, media, clones] = [
      createSpeechProvider(),
      createSpeechTaskProvider(),
      createMediaProvider(),
      createCloneProvider(),
    ]
    const calls = openSpeech({ ...deps, provider, clones })
    return {
      tasks,
      media,
      speaker: createVoiceSpeaker(calls),
      surfaces: provBV1Surfaces(calls),
      close: async () =>
        void (await Promise.all([provider, tasks, media, clones].map((one) => one.close()))),
    }
  },
}
