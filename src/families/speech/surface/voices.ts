import { Type } from 'typebox'
import { callerPresence, callSurface } from '../../../api/kit/calls.ts'
import { setCallHeaders } from '../../../api/kit/answer-headers.ts'
import type { Mount, Surface } from '../../../api/kit/surface.ts'
import type { SpeechCalls } from '../calls/clone.ts'
import type { Cloned } from '../calls/types.ts'
import { CloneBodySchema, readClone } from '../rules/clone-request.ts'
import { VOICE_CLONE } from '../rules/voices.ts'
import { SPEECH } from '../rules/rules.ts'
import { BaseRespSchema, callFailures, describe, succeeded, TraceId } from './envelope.ts'

const ClonedSchema = Type.Object({
  input_sensitive: Type.Optional(
    Type.Object({ type: Type.Integer({ description: 'Why the sample is objectionable.' }) }),
  ),
  demo_audio: Type.Optional(Type.String({ description: 'URL of the audition.' })),
  extra_info: Type.Optional(
    Type.Object({ usage_characters: Type.Integer({ description: 'Of the audition.' }) }),
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
export const cloneCall = (mount: Mount, { clones }: SpeechCalls): Surface =>
  callSurface(mount, {
    path: '/voice_clone',
    name: 'provB.voice-clone',
    family: SPEECH,
    body: CloneBodySchema,
    documented: describe({
      tag: 'Speech',
      operationId: 'cloneVoice',
      summary: 'Clone a voice',
      costs: true,
      ok: ClonedSchema,
      failures: [...callFailures.filter((one) => one !== 'voice_not_found'), 'voice_exists'],
      headers: ['x-call-id', 'idempotent-replayed'],
    }),
    accept: (body, asked) => ({
      input: { ...asked, model: VOICE_CLONE, request: readClone(body) },
    }),
    open: ({ calls }) => ({
      family: clones,
      answer: async ({ input }, request, reply) => {
        const call = await calls.complete(clones, { ...input, callerGone: callerPresence(reply) })
        setCallHeaders(reply, call)
        return { ...shown(call.body), ...succeeded(request) }
      },
    }),
  })
