import type { SpeechCalls } from '../calls/clone.ts'
import { creationsOf } from '../../../api/kit/tasks.ts'
import type { Mount, Surface } from '../../../api/kit/surface.ts'
import { provBV1Envelope } from './envelope.ts'
import { mediaFilesPlugin } from './files.ts'
import { speechCall } from './speech.ts'
import { speechTask, speechTaskRoute } from './tasks.ts'
import { cloneCall } from './voices.ts'

/** The `/provB/v1` interface: speech, its files and its voices. */

export const provBV1: Mount = {
  prefix: '/provB/v1',
  envelopeOf: () => provBV1Envelope,
  // Texts to be spoken.
  bodyBytes: 1024 * 1024,
  keepsAnswers: true,
  tags: [{ name: 'Speech', description: 'Speak texts, at once and asynchronously.' }],
}

/** Speech at once and as tasks, voices and files. */
export function provBV1Surfaces(calls: SpeechCalls): readonly Surface[] {
  return [
    speechCall(provBV1, calls),
    creationsOf(provBV1, [speechTask(calls)], speechTaskRoute),
    cloneCall(provBV1, calls),
    {
      mount: provBV1,
      endpoints: {},
      bodies: [],
      register: async (app, services) => {
        await app.register(mediaFilesPlugin(services))
      },
    },
  ]
}
