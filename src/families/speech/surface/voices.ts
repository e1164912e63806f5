import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { principalOf } from '../../../api/kit/authenticate.ts'
import { callerPresence } from '../../../api/kit/caller.ts'
import { costHeaders } from '../../../api/kit/answer-headers.ts'
import { CallKeySchema, keyedBy } from '../../../api/kit/idempotency.ts'
import { objectBody } from '../../../api/kit/json-body.ts'
import { refuseMisspelt } from '../../../api/kit/misspelt.ts'
import type { Services } from '../../../api/kit/surface.ts'
import type { SpeechCalls } from '../calls/clone.ts'
import type { Cloned } from '../calls/types.ts'
import { CloneBodySchema, readClone } from '../rules/clone-request.ts'
import { VOICE_CLONE } from '../rules/voices.ts'
import { SPEECH } from '../rules/rules.ts'
import { costOf } from '../../../domain/pricing/cost.ts'
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
export function voicesRoute(
  app: FastifyInstance,
  { clones, readyClone }: SpeechCalls,
  { calls, foreignMembers: foreign }: Services,
): void {
  app.post('/voice_clone', {
    validatorCompiler: refuseMisspelt({}, { foreign }),
    schema: {
      ...describe({
        tag: 'Speech',
        operationId: 'cloneVoice',
        summary: 'Clone a voice',
        costs: true,
        ok: ClonedSchema,
        failures: [...callFailures.filter((one) => one !== 'voice_not_found'), 'voice_exists'],
        headers: ['x-call-id', 'idempotent-replayed'],
      }),
      headers: CallKeySchema,
      body: CloneBodySchema,
    },
    handler: async (request, reply) => {
      const order = readClone(objectBody(request.body))
      // From here on only the use case holds the body.
      request.body = undefined
      const asked = await readyClone({
        principal: principalOf(request),
        family: SPEECH,
        surface: 'provB.voice-clone',
        model: VOICE_CLONE,
        requestId: request.id,
        callerGone: callerPresence(reply),
        request: order,
        ...keyedBy(request),
      })
      const call = await calls.complete(clones, asked)
      void reply.headers({
        'x-call-id': call.callId,
        ...costHeaders(costOf(call.settlement)),
        'cache-control': 'no-store',
      })
      return { ...shown(call.body), ...succeeded(request) }
    },
  })
}
