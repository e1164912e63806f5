import type { FastifyInstance, FastifySchema } from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { Authenticate } from '../../app/access/principal.ts'
import type { TaskUseCases } from '../../app/tasks/types.ts'
import { principalOf, requireToken } from '../kit/authenticate.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { useJsonBody } from '../kit/json-body.ts'
import type { ResolveHost } from '../kit/public-url.ts'
import { createTaskHandler } from './create-task.ts'
import { provAEnvelope } from './envelope.ts'
import { readListQuery } from './list-tasks.ts'
import {
  CreatedTaskSchema,
  CreateTaskBodySchema,
  DeletedTaskSchema,
  ListTasksQuerySchema,
  ProvAErrorSchema,
  TaskListSchema,
  TaskParamsSchema,
  TaskSchema,
} from './schemas.ts'
import { taskIdOf } from './task-id.ts'
import { toTask } from './task-view.ts'

export interface ProvADeps {
  readonly authenticate: Authenticate
  readonly tasks: TaskUseCases
  readonly resolveHost: ResolveHost
  readonly bodyLimitBytes: number
}

const family = 'video-a'

function documented(summary: string, statuses: readonly number[]): FastifySchema {
  return {
    tags: ['Video tasks (/provA)'],
    summary,
    security: [{ modelToken: [] }],
    response: Object.fromEntries(statuses.map((status) => [status, ProvAErrorSchema])),
  }
}

function withAnswer(schema: FastifySchema, ok: object): FastifySchema {
  return { ...schema, response: { 200: ok, ...(schema.response as object) } }
}

/** The `/provA` task interface (spec §2.8, §3.1, §4.3), to be registered under `/provA`. */
export function provAPlugin(deps: ProvADeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    useEnvelope(instance, provAEnvelope)
    useJsonBody(instance, deps.bodyLimitBytes)
    requireToken(instance, deps.authenticate, 'model')
    const path = '/api/v3/contents/generations/tasks'

    app.post(path, {
      schema: {
        ...withAnswer(
          documented(
            'Create a video task',
            [400, 401, 402, 403, 404, 409, 413, 415, 429, 502, 503],
          ),
          CreatedTaskSchema,
        ),
        body: CreateTaskBodySchema,
      },
      // The catalog owns the rules of the body and names the field; the schema only documents.
      validatorCompiler: () => () => true,
      handler: createTaskHandler(deps.tasks.createTask, deps.resolveHost),
    })

    app.get(path, {
      schema: {
        ...withAnswer(documented('List video tasks', [400, 401, 403, 503]), TaskListSchema),
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
        ...withAnswer(documented('Query a video task', [401, 403, 404, 503]), TaskSchema),
        params: TaskParamsSchema,
      },
      handler: async (request, reply) => {
        const view = await deps.tasks.getTask({
          principal: principalOf(request),
          family,
          id: taskIdOf(request.params.id),
          requestId: request.id,
        })
        void reply.header('x-platform-id', view.platformId)
        return toTask(view)
      },
    })

    app.delete(`${path}/:id`, {
      schema: {
        ...withAnswer(
          documented('Cancel a queued task or hide a finished one', [401, 403, 404, 409, 502, 503]),
          DeletedTaskSchema,
        ),
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
