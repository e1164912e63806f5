import type { FastifyInstance } from 'fastify'
import type { Cloned } from '../../../../app/calls/media/types.ts'
import { readClone } from '../../../../domain/families/speech/clone-request.ts'
import { VOICE_CLONE } from '../../../../domain/families/speech/models.ts'
import { SPEECH } from '../../../../domain/families/speech/rules.ts'
import { costOf } from '../../../../domain/pricing/cost.ts'
import { principalOf } from '../../../../api/kit/authenticate.ts'
import { callerPresence } from '../../../../api/kit/caller.ts'
import { costHeaders } from '../../../../api/kit/cost.ts'
import { CallKeySchema } from '../../../../api/kit/idempotency-key.ts'
import { objectBody } from '../../../../api/kit/json-body.ts'
import { keyedBy } from '../../../../api/kit/keyed-call.ts'
import { refuseMisspelt } from '../../../../api/kit/misspelt.ts'
import type { Services } from '../../../../api/kit/surface.ts'
import { succeeded } from '../answered.ts'
import { describe } from '../documentation.ts'
import { callFailures } from '../failures.ts'
import { ClonedSchema, CloneBodySchema } from './schemas.ts'

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
  { media, foreignMembers: foreign }: Services,
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
      const call = await media.clone({
        principal: principalOf(request),
        family: SPEECH,
        surface: 'provB.voice-clone',
        model: VOICE_CLONE,
        requestId: request.id,
        callerGone: callerPresence(reply),
        request: order,
        ...keyedBy(request),
      })
      void reply.headers({
        'x-call-id': call.callId,
        ...costHeaders(costOf(call.settlement)),
        'cache-control': 'no-store',
      })
      return { ...shown(call.body), ...succeeded(request) }
    },
  })
}
