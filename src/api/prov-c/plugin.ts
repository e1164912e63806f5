import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Authenticate } from '../../app/access/principal.ts'
import type { TaskKey, TaskUseCases, TaskView } from '../../app/tasks/types.ts'
import { videoCModes } from '../../domain/families/video-c/models.ts'
import type { ResolveHost } from '../../kernel/public-url.ts'
import { principalOf, requireToken } from '../kit/authenticate.ts'
import { useBodyBudget, type BodyBudget } from '../kit/body-budget.ts'
import { useEnvelope } from '../kit/envelope.ts'
import type { ForeignNames } from '../kit/foreign-members.ts'
import { IdempotencyKeySchema } from '../kit/idempotency-key.ts'
import { useJsonBody } from '../kit/json-body.ts'
import { refuseMisspelt } from '../kit/misspelt.ts'
import { creationFailures, queryFailures } from '../kit/task-failures.ts'
import { tellTask } from '../kit/task-answer.ts'
import { taskIdOf } from '../kit/task-id.ts'
import { describe } from './documentation.ts'
import { provCEnvelope } from './envelope.ts'
import { cancelFailures } from './failures.ts'
import {
  alsoInClips,
  bodySchemas,
  ClipParamsSchema,
  ClipSchema,
  CreatedClipSchema,
} from './schemas.ts'
import { createClipHandler } from './tasks/create.ts'
import { toClip } from './tasks/view.ts'

export interface ProvCDeps {
  readonly authenticate: Authenticate
  readonly tasks: TaskUseCases
  readonly resolveHost: ResolveHost
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
  /** Members of other interfaces' creations, which this one refuses. */
  readonly foreignMembers: ForeignNames
}

const family = 'video-c'

/** Each path in words. */
const summaries = {
  text2video: 'Create a video from a text',
  img2video: 'Create a video that a picture begins',
  'start-end2video': 'Create a video between two pictures',
  reference2video: 'Create a video with what pictures show',
} as const
const operationIds = {
  text2video: 'createClipFromText',
  img2video: 'createClipFromImage',
  'start-end2video': 'createClipBetweenImages',
  reference2video: 'createClipFromReferences',
} as const

/** The `/provC` task interface, to be registered under `/provC`. */
export function provCPlugin(deps: ProvCDeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    const { createTask, getTask, cancelTask } = deps.tasks
    useEnvelope(instance, provCEnvelope)
    useJsonBody(instance, deps.bodyLimitBytes)
    useBodyBudget(instance, deps.bodyBudget, deps.bodyLimitBytes)
    requireToken(instance, deps.authenticate, 'model')

    for (const mode of videoCModes)
      app.post(`/ent/v2/${mode}`, {
        schema: {
          ...describe({
            operationId: operationIds[mode],
            summary: summaries[mode],
            ok: CreatedClipSchema,
            failures: creationFailures,
          }),
          headers: IdempotencyKeySchema,
          body: bodySchemas[mode],
        },
        // The catalog owns the rules of the body; of the schema only misspelt names are told.
        validatorCompiler: refuseMisspelt(alsoInClips, { foreign: deps.foreignMembers }),
        handler: createClipHandler(mode, createTask, deps.resolveHost),
      })

    const answered =
      (act: (key: TaskKey) => Promise<TaskView>) =>
      async (request: FastifyRequest, reply: FastifyReply) => {
        const { id } = request.params as { readonly id: string }
        const principal = principalOf(request)
        const view = await act({ principal, family, id: taskIdOf(id), requestId: request.id })
        tellTask(reply, view)
        return toClip(view)
      }

    app.get('/ent/v2/tasks/:id/creations', {
      schema: {
        ...describe({
          operationId: 'getClip',
          summary: 'Query a video of the third family',
          costs: true,
          ok: ClipSchema,
          failures: queryFailures,
        }),
        params: ClipParamsSchema,
      },
      handler: answered(getTask),
    })

    app.post('/ent/v2/tasks/:id/cancel', {
      config: { startsNothing: true },
      schema: {
        ...describe({
          operationId: 'cancelClip',
          summary: 'Cancel a video that is not worked on yet',
          ok: ClipSchema,
          failures: cancelFailures,
        }),
        params: ClipParamsSchema,
      },
      handler: answered(cancelTask),
    })
  }
}
