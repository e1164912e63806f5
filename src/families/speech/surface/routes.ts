import type { SpeechCalls } from '../calls/clone.ts'
import { CloneBodySchema, readClone } from '../rules/clone-request.ts'
import { VOICE_CLONE } from '../rules/voices.ts'
import { speechBodies } from '../rules/body.ts'
import { readSpeech } from '../rules/request.ts'
import { SPEECH } from '../rules/rules.ts'
import { creationsOf } from '../../../api/kit/creations.ts'
import { misspeltRefusal, type QuotedPath } from '../../../api/kit/quoted-path.ts'
import type { Mount, Services, Surface } from '../../../api/kit/surface.ts'
import { provBV1Envelope } from './envelope.ts'
import { mediaFilesPlugin } from './files.ts'
import { speechRoute } from './speech.ts'
import { speechTask, speechTaskRoute } from './tasks.ts'
import { voicesRoute } from './voices.ts'

/** The `/provB/v1` interface: speech, its files and its voices. */

export const provBV1: Mount = {
  prefix: '/provB/v1',
  envelopeOf: () => provBV1Envelope,
  // Texts to be spoken.
  bodyBytes: 1024 * 1024,
  keepsAnswers: true,
  tags: [{ name: 'Speech', description: 'Speak texts, at once and asynchronously.' }],
}

const family = SPEECH

export function provBV1Surface(calls: SpeechCalls): Surface {
  const tasks = creationsOf(provBV1, [speechTask(calls)], speechTaskRoute)
  return {
    mount: provBV1,
    endpoints: {
      'provB.speech': '/provB/v1/t2a_v2',
      ...tasks.endpoints,
      'provB.voice-clone': '/provB/v1/voice_clone',
    },
    bodies: [...tasks.bodies, { schema: CloneBodySchema }],
    register: async (app, services) => {
      speechRoute(app, calls, services)
      await tasks.register(app, services)
      await app.register(mediaFilesPlugin(services))
      voicesRoute(app, calls, services)
    },
    quotes: (services) => [...quotedCalls(calls, services), ...(tasks.quotes?.(services) ?? [])],
  }
}

function quotedCalls(
  { speech, clones, readyClone, resolveVoice }: SpeechCalls,
  { calls: runner, foreignMembers: foreign }: Services,
): readonly QuotedPath[] {
  const check = misspeltRefusal(speechBodies.call, {}, { foreign })
  const checkClone = misspeltRefusal(CloneBodySchema, {}, { foreign })
  return [
    {
      path: '/provB/v1/t2a_v2',
      quote: async ({ principal, requestId, body }) => {
        check(body)
        const request = readSpeech(body, 'call')
        const { model } = request
        const voice = await resolveVoice(principal.tenantId, request.voiceId)
        const of = { family, surface: 'provB.speech', principal, requestId }
        return runner.quote(speech, { ...of, model, request, voice })
      },
    },
    {
      path: '/provB/v1/voice_clone',
      quote: async ({ principal, requestId, body }) => {
        checkClone(body)
        const request = readClone(body)
        const of = { family, surface: 'provB.voice-clone', principal, requestId }
        return runner.quote(clones, await readyClone({ ...of, model: VOICE_CLONE, request }))
      },
    },
  ]
}
