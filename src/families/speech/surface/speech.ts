import type { FastifyInstance } from 'fastify'
import { speechBodies } from '../rules/body.ts'
import { readSpeech } from '../rules/request.ts'
import { SPEECH } from '../rules/rules.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { principalOf } from '../../../api/kit/authenticate.ts'
import { CallKeySchema, keyedBy } from '../../../api/kit/idempotency.ts'
import { objectBody } from '../../../api/kit/json-body.ts'
import { refuseMisspelt } from '../../../api/kit/misspelt.ts'
import type { SpeechCalls } from '../calls/open.ts'
import type { Services } from '../../../api/kit/surface.ts'
import { callFailures, describe } from './envelope.ts'
import { answerSpeech, answerSpeechStream } from './speech-answers.ts'
import { SpokenSchema } from './schemas.ts'

/** Refused where it is left out. */
export const lacking = new DomainError('invalid_request', '`text` is required', { param: 'text' })

/** Speech at once. */
export function speechRoute(app: FastifyInstance, calls: SpeechCalls, services: Services): void {
  app.post('/t2a_v2', {
    // The family judges the body; the schema only finds misspelt names.
    validatorCompiler: refuseMisspelt({}, { foreign: services.foreignMembers }),
    schema: {
      ...describe({
        tag: 'Speech',
        operationId: 'createSpeech',
        summary: 'Speak a text',
        costs: true,
        ok: SpokenSchema,
        others: {
          'audio/mpeg': 'Of an account that answers audio itself: the bytes, by their format.',
          'text/event-stream': 'With `stream`: pieces of the audio in hexadecimal, in `data:`.',
        },
        failures: callFailures,
        further: [lacking],
        headers: ['x-call-id', 'idempotent-replayed'],
      }),
      headers: CallKeySchema,
      body: speechBodies.call,
    },
    handler: async (request, reply) => {
      const asked = readSpeech(objectBody(request.body), 'call')
      // From here on only the use case holds the body.
      request.body = undefined
      const principal = principalOf(request)
      const voice = await calls.resolveVoice(principal.tenantId, asked.voiceId)
      const call = {
        principal,
        family: SPEECH,
        surface: 'provB.speech',
        requestId: request.id,
        model: asked.model,
        request: asked,
        voice,
        ...keyedBy(request),
      }
      const answer = asked.streamed ? answerSpeechStream : answerSpeech
      return answer(calls.speech, call, request, reply, services)
    },
  })
}
