import { Type } from 'typebox'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { TaskView } from '../../../app/tasks/types.ts'
import type { SpeechCalls } from '../calls/clone.ts'
import type { ResolveVoice } from '../calls/voices.ts'
import { CHARACTERS } from '../rules/pricing.ts'
import { speechBodies } from '../rules/body.ts'
import { readSpeech, type SpeechRequest, withVoice } from '../rules/request.ts'
import { SPEECH } from '../rules/rules.ts'
import {
  submitted,
  type TaskCreation,
  taskKeyOf,
  setTaskHeaders,
} from '../../../api/kit/routes/tasks.ts'
import type { Services } from '../../../api/kit/services.ts'
import { queryFailures } from '../../../api/kit/failures/route-failures.ts'
import {
  creationFailures,
  describeSpeech,
  ofAccount,
  succeeded,
  BaseRespSchema,
  TraceId,
} from './envelope.ts'
import { missingText } from './speech.ts'

const TaskId = Type.String({ description: 'An int64, as a decimal string.' })
const FileId = Type.String({ description: 'Id of the file to retrieve the result by.' })
const Characters = Type.Integer({ description: 'Characters that are billed on success.' })

const CreatedSpeechSchema = Type.Object({
  task_id: TaskId,
  file_id: FileId,
  platform_id: Type.String({ description: 'Our id of the task, `speech_<ULID>`.' }),
  usage_characters: Type.Optional(Characters),
  trace_id: TraceId,
  base_resp: BaseRespSchema,
})

const SpeechTaskSchema = Type.Object({
  task_id: TaskId,
  platform_id: Type.String(),
  model: Type.String(),
  status: Type.Enum(['Processing', 'Success', 'Failed', 'Expired']),
  file_id: Type.Optional(FileId),
  usage_characters: Type.Optional(Characters),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
  trace_id: TraceId,
  base_resp: BaseRespSchema,
})

const SpeechTaskQuerySchema = Type.Object({
  task_id: Type.String({ description: 'The task id, or the platform id.' }),
  ...ofAccount,
})

/** Asynchronous speech. The audio of a task is retrieved as a file, by the id of the task. */

interface AcceptedSpeech {
  readonly request: SpeechRequest
  readonly voice: Awaited<ReturnType<ResolveVoice>>
}

export const speechTask = ({
  resolveVoice,
}: Pick<SpeechCalls, 'resolveVoice'>): TaskCreation<AcceptedSpeech> => ({
  path: '/t2a_async_v2',
  name: 'provB.speech.async',
  body: speechBodies.task,
  documented: describeSpeech({
    tag: 'Speech',
    operationId: 'createSpeechTask',
    summary: 'Speak a text asynchronously',
    ok: CreatedSpeechSchema,
    failures: creationFailures,
    further: [missingText],
    headers: ['x-platform-id', 'idempotent-replayed'],
  }),
  accept: async (body, { principal: { tenantId } }) => {
    const request = readSpeech(body, 'task')
    return { request, voice: await resolveVoice(tenantId, request.voiceId) }
  },
  creator: submitted,
  order: ({ request, voice: { voiceId, channelId } }) => ({
    family: SPEECH,
    model: request.model,
    facts: request.facts,
    upstreamBody: () => withVoice(request, voiceId),
    channelId,
  }),
  answer: ({ platformId, nativeId, usage }, _accepted, request) => ({
    task_id: nativeId,
    file_id: nativeId,
    platform_id: platformId,
    ...charactersIn(usage),
    ...succeeded(request),
  }),
})

export function speechTaskRoute(
  instance: FastifyInstance,
  { tasks }: Pick<Services, 'tasks'>,
): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get('/query/t2a_async_query_v2', {
    schema: {
      ...describeSpeech({
        tag: 'Speech',
        operationId: 'getSpeechTask',
        summary: 'Query asynchronous speech',
        costs: true,
        ok: SpeechTaskSchema,
        failures: queryFailures,
        headers: ['x-platform-id'],
      }),
      querystring: SpeechTaskQuerySchema,
    },
    handler: async (request, reply) => {
      const view = await tasks.getTask(taskKeyOf(request, SPEECH, request.query.task_id))
      setTaskHeaders(reply, view)
      void reply.header('cache-control', 'no-store')
      return { ...shown(view), ...succeeded(request) }
    },
  })
}

const statuses = {
  queued: 'Processing',
  running: 'Processing',
  succeeded: 'Success',
  failed: 'Failed',
  cancelled: 'Failed',
  expired: 'Expired',
} as const satisfies Record<TaskView['status'], string>

function shown({ platformId, nativeId, model, status, usage, error }: TaskView) {
  const id = nativeId ?? platformId
  return {
    task_id: id,
    platform_id: platformId,
    model,
    status: statuses[status],
    ...(status === 'succeeded' ? { file_id: id, ...charactersIn(usage) } : {}),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
  }
}

function charactersIn(usage: TaskView['usage']) {
  const characters = usage?.[CHARACTERS]
  return characters === undefined ? {} : { usage_characters: characters }
}
