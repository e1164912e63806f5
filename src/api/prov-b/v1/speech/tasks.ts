import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { TaskUseCases, TaskView } from '../../../../app/tasks/types.ts'
import type { ResolveVoice } from '../../../../app/resolve-voice.ts'
import { CHARACTERS } from '../../../../domain/families/speech/pricing.ts'
import { readSpeech, withVoice } from '../../../../domain/families/speech/request.ts'
import { SPEECH } from '../../../../domain/families/speech/rules.ts'
import { principalOf } from '../../../kit/authenticate.ts'
import { bodyHashOf } from '../../../kit/body-hash.ts'
import { idempotencyKeyOf } from '../../../kit/idempotency-key.ts'
import { objectBody } from '../../../kit/json-body.ts'
import { tellCreated, tellTask } from '../../../kit/task-answer.ts'
import { taskIdOf } from '../../../kit/task-id.ts'
import { succeeded } from '../answered.ts'
import type { CreatedSpeechSchema, SpeechTaskSchema } from './schemas.ts'

/** Asynchronous speech. What a task made is retrieved as a file, under the id of the task. */

/** Takes a task. Every answer once its id exists carries `x-platform-id`. */
export async function createSpeechTask(
  deps: { readonly tasks: TaskUseCases; readonly resolveVoice: ResolveVoice },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Static<typeof CreatedSpeechSchema>> {
  const idempotencyKey = idempotencyKeyOf(request)
  const asked = readSpeech(objectBody(request.body), 'task')
  const principal = principalOf(request)
  const voice = await deps.resolveVoice(principal.tenantId, asked.voiceId)
  const created = await deps.tasks.createTask({
    principal,
    family: SPEECH,
    surface: 'provB.speech.async',
    requestId: request.id,
    model: asked.model,
    facts: asked.facts,
    upstreamBody: withVoice(asked, voice.voiceId),
    callerMarker: undefined,
    executionExpiresAfterS: undefined,
    idempotencyKey,
    bodyHash: bodyHashOf(request),
    channelId: voice.channelId,
  })
  const { platformId, nativeId, usage } = created
  tellCreated(reply, created)
  return {
    task_id: nativeId,
    file_id: nativeId,
    platform_id: platformId,
    ...charactersIn(usage),
    ...succeeded(request),
  }
}

/** Looks at a task. */
export async function querySpeechTask(
  { getTask }: Pick<TaskUseCases, 'getTask'>,
  id: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Static<typeof SpeechTaskSchema>> {
  const view = await getTask({
    principal: principalOf(request),
    family: SPEECH,
    id: taskIdOf(id),
    requestId: request.id,
  })
  tellTask(reply, view)
  void reply.header('cache-control', 'no-store')
  return { ...shown(view), ...succeeded(request) }
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
