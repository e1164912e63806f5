import type { FastifyInstance } from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { Authenticate } from '../../app/access/principal.ts'
import type { TaskUseCases } from '../../app/tasks/types.ts'
import { principalOf, requireToken } from '../kit/authenticate.ts'
import { useBodyBudget, type BodyBudget } from '../kit/body-budget.ts'
import { useEnvelopes } from '../kit/envelope.ts'
import type { ForeignNames } from '../kit/foreign-members.ts'
import { IdempotencyKeySchema } from '../kit/idempotency-key.ts'
import { useJsonBody } from '../kit/json-body.ts'
import { refuseMisspelt } from '../kit/misspelt.ts'
import { tellTask } from '../kit/task-answer.ts'
import { taskIdOf } from '../kit/task-id.ts'
import type { ResolveHost } from '../../kernel/public-url.ts'
import { isLibraryUrl } from './assets/asked.ts'
import { libraryEnvelopeOf } from './assets/envelope.ts'
import { createTaskHandler } from './tasks/create.ts'
import { describe } from './documentation.ts'
import { provAEnvelope } from './envelope.ts'
import { deletionFailures, queryFailures } from '../kit/task-failures.ts'
import { createFailures, listFailures } from './failures.ts'
import { readListQuery } from './tasks/list.ts'
import {
  alsoInTasks,
  CreatedTaskSchema,
  CreateTaskBodySchema,
  DeletedTaskSchema,
  ListTasksQuerySchema,
  TaskListSchema,
  TaskParamsSchema,
  TaskSchema,
} from './schemas.ts'
import { toTask } from './tasks/view.ts'

export interface ProvADeps {
  readonly authenticate: Authenticate
  readonly tasks: TaskUseCases
  readonly resolveHost: ResolveHost
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
  /** Members of other interfaces' creations, which this one refuses. */
  readonly foreignMembers: ForeignNames
}

const family = 'video-a'

/** The `/provA` task interface, to be registered under `/provA`. */
export function provAPlugin(deps: ProvADeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    // The library beside it has a shape of its own, also for what it has no route for.
    useEnvelopes(instance, (request) =>
      isLibraryUrl(request.url) ? libraryEnvelopeOf(request) : provAEnvelope,
    )
    useJsonBody(instance, deps.bodyLimitBytes)
    useBodyBudget(instance, deps.bodyBudget, deps.bodyLimitBytes)
    requireToken(instance, deps.authenticate, 'model')
    const path = '/api/v3/contents/generations/tasks'

    app.post(path, {
      schema: {
        ...describe({
          operationId: 'createVideoTask',
          summary: 'Create a video task',
          ok: CreatedTaskSchema,
          failures: createFailures,
        }),
        headers: IdempotencyKeySchema,
        body: CreateTaskBodySchema,
      },
      // The catalog owns the rules of the body; of the schema only misspelt names are told.
      validatorCompiler: refuseMisspelt(alsoInTasks, { foreign: deps.foreignMembers }),
      handler: createTaskHandler(deps.tasks.createTask, deps.resolveHost),
    })

    app.get(path, {
      schema: {
        ...describe({
          operationId: 'listVideoTasks',
          summary: 'List video tasks',
          ok: TaskListSchema,
          failures: listFailures,
        }),
        querystring: ListTasksQuerySchema,
      },
      handler: async (request) => {
        const listed = await deps.tasks.listTasks({
          principal: principalOf(request),
          family,
          ...readListQuery(request.query),
        })
        return { items: listed.items.map(toTask), total: listed.total }
      },
    })

    app.get(`${path}/:id`, {
      schema: {
        ...describe({
          operationId: 'getVideoTask',
          summary: 'Query a video task',
          costs: true,
          ok: TaskSchema,
          failures: queryFailures,
        }),
        params: TaskParamsSchema,
      },
      handler: async (request, reply) => {
        const view = await deps.tasks.getTask({
          principal: principalOf(request),
          family,
          id: taskIdOf(request.params.id),
          requestId: request.id,
        })
        tellTask(reply, view)
        return toTask(view)
      },
    })

    app.delete(`${path}/:id`, {
      schema: {
        ...describe({
          operationId: 'deleteVideoTask',
          summary: 'Cancel a queued task or hide a finished one',
          ok: DeletedTaskSchema,
          failures: deletionFailures,
        }),
        params: TaskParamsSchema,
      },
      handler: async (request, reply) => {
        const deleted = await deps.tasks.deleteTask({
          principal: principalOf(request),
          family,
          id: taskIdOf(request.params.id),
          requestId: request.id,
        })
        void reply.header('x-platform-id', deleted.platformId)
        return {}
      },
    })
  }
}
