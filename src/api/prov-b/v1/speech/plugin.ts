import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { SpeechUseCases } from '../../../../app/calls/speech/types.ts'
import type { ResolveVoice } from '../../../../app/resolve-voice.ts'
import type { TaskUseCases } from '../../../../app/tasks/types.ts'
import { readSpeech } from '../../../../domain/families/speech/request.ts'
import { SPEECH } from '../../../../domain/families/speech/rules.ts'
import { DomainError } from '../../../../kernel/errors.ts'
import { principalOf } from '../../../kit/authenticate.ts'
import type { StreamLimits } from '../../../kit/event-stream.ts'
import type { ForeignNames } from '../../../kit/foreign-members.ts'
import { CallKeySchema, IdempotencyKeySchema } from '../../../kit/idempotency-key.ts'
import { objectBody } from '../../../kit/json-body.ts'
import { keyedBy } from '../../../kit/keyed-call.ts'
import { refuseMisspelt } from '../../../kit/misspelt.ts'
import { describe } from '../documentation.ts'
import { queryFailures } from '../../../kit/task-failures.ts'
import { callFailures, creationFailures } from '../failures.ts'
import { answerSpeech, answerSpeechStream } from './answer.ts'
import {
  alsoInSpeech,
  CreatedSpeechSchema,
  SpeechBodySchema,
  SpeechTaskQuerySchema,
  SpeechTaskSchema,
  SpokenSchema,
} from './schemas.ts'
import { createSpeechTask, querySpeechTask } from './tasks.ts'

export interface SpeechRouteDeps {
  readonly speech: SpeechUseCases
  readonly tasks: TaskUseCases
  readonly resolveVoice: ResolveVoice
  readonly streamLimits: StreamLimits
  /** Members of other interfaces' creations, which this one refuses. */
  readonly foreignMembers: ForeignNames
}

const lacking = new DomainError('invalid_request', '`text` is required', { param: 'text' })

/** Speech at once and as tasks, to be registered below `/provB/v1`. */
export function speechPlugin(deps: SpeechRouteDeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    // The catalog owns the rules of bodies; of the schema only misspelt names are told.
    const validatorCompiler = refuseMisspelt(alsoInSpeech, { foreign: deps.foreignMembers })
    instance.post('/t2a_v2', {
      validatorCompiler,
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
        body: SpeechBodySchema,
      },
      handler: async (request, reply) => {
        const asked = readSpeech(objectBody(request.body), 'call')
        // From here on only the use case holds the body.
        request.body = undefined
        const principal = principalOf(request)
        const voice = await deps.resolveVoice(principal.tenantId, asked.voiceId)
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
        return asked.streamed
          ? answerSpeechStream(deps.speech, call, request, reply, deps.streamLimits)
          : answerSpeech(deps.speech, call, request, reply, deps.streamLimits)
      },
    })

    instance.post('/t2a_async_v2', {
      validatorCompiler,
      schema: {
        ...describe({
          tag: 'Speech',
          operationId: 'createSpeechTask',
          summary: 'Speak a text asynchronously',
          ok: CreatedSpeechSchema,
          failures: creationFailures,
          further: [lacking],
          headers: ['x-platform-id', 'idempotent-replayed'],
        }),
        headers: IdempotencyKeySchema,
        body: SpeechBodySchema,
      },
      handler: (request, reply) => createSpeechTask(deps, request, reply),
    })

    app.get('/query/t2a_async_query_v2', {
      schema: {
        ...describe({
          tag: 'Speech',
          operationId: 'getSpeechTask',
          summary: 'Query asynchronous speech',
          costs: true,
          ok: SpeechTaskSchema,
          failures: [...queryFailures, 'parameter_invalid'],
          headers: ['x-platform-id'],
        }),
        querystring: SpeechTaskQuerySchema,
      },
      handler: (request, reply) =>
        querySpeechTask(deps.tasks, request.query.task_id, request, reply),
    })
  }
}
