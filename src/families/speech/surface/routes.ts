import { Type } from 'typebox'
import type { SpeechCalls } from '../calls/clone.ts'
import { creationsOf } from '../../../api/kit/routes/tasks.ts'
import type { Mount, Surface } from '../../../api/kit/routes/surface.ts'
import {
  provBV1Envelope,
  BaseRespSchema,
  callFailures,
  describeSpeech,
  succeeded,
  TraceId,
} from './envelope.ts'
import { mediaFilesPlugin } from './files.ts'
import { speechCall } from './speech.ts'
import { speechTask, speechTaskRoute } from './tasks.ts'
import { answerWhole, callSurface } from '../../../api/kit/routes/calls.ts'
import type { Cloned } from '../calls/family.ts'
import { CloneBodySchema, readClone } from '../rules/clone-request.ts'
import { VOICE_CLONE } from '../rules/voices.ts'
import { SPEECH } from '../rules/rules.ts'

const ClonedSchema = Type.Object({
  input_sensitive: Type.Optional(
    Type.Object({
      type: Type.Integer({ description: 'Kind of sensitive content in the sample.' }),
    }),
  ),
  demo_audio: Type.Optional(Type.String({ description: 'URL of the audition.' })),
  extra_info: Type.Optional(
    Type.Object({
      usage_characters: Type.Integer({ description: 'Billed characters of the audition.' }),
    }),
  ),
  trace_id: TraceId,
  base_resp: BaseRespSchema,
})

function shown({ inputSensitive, demoAudio, characters }: Cloned) {
  return {
    ...(inputSensitive === undefined ? {} : { input_sensitive: { type: inputSensitive } }),
    ...(demoAudio === undefined ? {} : { demo_audio: demoAudio }),
    ...(characters === undefined ? {} : { extra_info: { usage_characters: characters } }),
  }
}

/** Clones of voices. */
const cloneCall = (mount: Mount, { clones }: SpeechCalls): Surface =>
  callSurface(mount, {
    path: '/voice_clone',
    name: 'provB.voice-clone',
    body: CloneBodySchema,
    documented: describeSpeech({
      tag: 'Speech',
      operationId: 'cloneVoice',
      summary: 'Clone a voice',
      costs: true,
      ok: ClonedSchema,
      failures: [...callFailures.filter((one) => one !== 'voice_not_found'), 'voice_exists'],
      headers: ['x-call-id', 'idempotent-replayed'],
    }),
    accept: (body, asked) => ({
      input: { ...asked.by, family: SPEECH, model: VOICE_CLONE, request: readClone(body) },
    }),
    open: ({ calls }) => ({
      family: clones,
      answer: async ({ input }, request, reply) => {
        const cloned = await answerWhole(calls, clones, input, reply)
        return { ...shown(cloned), ...succeeded(request) }
      },
    }),
  })

/** The `/provB/v1` interface: speech, its files and its voices. */

export const provBV1: Mount = {
  prefix: '/provB/v1',
  envelopeOf: () => provBV1Envelope,
  // Bound for texts to be spoken.
  bodyBytes: 1024 * 1024,
  keepsAnswers: true,
  tags: [{ name: 'Speech', description: 'Speech from text, synchronous and asynchronous.' }],
}

/** Synchronous speech, speech as tasks, voices and files. */
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
