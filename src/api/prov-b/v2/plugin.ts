import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Authenticate } from '../../../app/access/principal.ts'
import type { TaskUseCases } from '../../../app/tasks/types.ts'
import { principalOf, requireToken } from '../../kit/authenticate.ts'
import { useBodyBudget, type BodyBudget } from '../../kit/body-budget.ts'
import { useEnvelope } from '../../kit/envelope.ts'
import { IdempotencyKeySchema } from '../../kit/idempotency-key.ts'
import { useJsonBody } from '../../kit/json-body.ts'
import { refuseMisspelt } from '../../kit/misspelt.ts'
import { queryFailures } from '../../kit/task-failures.ts'
import { tellTask } from '../../kit/task-answer.ts'
import { taskIdOf } from '../../kit/task-id.ts'
import { createVideoHandler } from './create.ts'
import type { ForeignNames } from '../../kit/foreign-members.ts'
import { describe } from './documentation.ts'
import { provBV2Envelope } from './envelope.ts'
import { createFailures } from './failures.ts'
import type { MediaDeps } from './media.ts'
import {
  CreatedVideoSchema,
  CreateVideoBodySchema,
  VideoParamsSchema,
  VideoSchema,
} from './schemas.ts'
import { toVideo } from './view.ts'

export interface ProvBV2Deps extends MediaDeps {
  readonly authenticate: Authenticate
  readonly tasks: TaskUseCases
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
  /** Members of other interfaces' creations, which this one refuses. */
  readonly foreignMembers: ForeignNames
}

/** The `/provB` video interface, to be registered under `/provB/v2`. */
export function provBV2Plugin(deps: ProvBV2Deps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    const { createTask, getTask } = deps.tasks
    useEnvelope(instance, provBV2Envelope)
    useJsonBody(instance, deps.bodyLimitBytes, { keepsMedia: true })
    useBodyBudget(instance, deps.bodyBudget, deps.bodyLimitBytes)
    requireToken(instance, deps.authenticate, 'model')

    app.post('/video_generation', {
      schema: {
        ...describe({
          operationId: 'createVideoB',
          summary: 'Create a video of the second family',
          ok: CreatedVideoSchema,
          failures: createFailures,
        }),
        headers: IdempotencyKeySchema,
        body: CreateVideoBodySchema,
      },
      // The catalog owns the rules of the body; of the schema only misspelt names are told.
      validatorCompiler: refuseMisspelt({}, { foreign: deps.foreignMembers }),
      handler: createVideoHandler({ ...deps, createTask }),
    })

    app.get('/query/video_generation/:task_id', {
      schema: {
        ...describe({
          operationId: 'getVideoB',
          summary: 'Query a video of the second family',
          costs: true,
          ok: VideoSchema,
          failures: queryFailures,
        }),
        params: VideoParamsSchema,
      },
      handler: async (request, reply) => {
        const view = await getTask({
          principal: principalOf(request),
          family: 'video-b',
          id: taskIdOf(request.params.task_id),
          requestId: request.id,
        })
        tellTask(reply, view)
        return toVideo(view)
      },
    })
  }
}
