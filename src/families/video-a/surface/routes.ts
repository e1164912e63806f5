import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { videoABody } from '../rules/body.ts'
import { acceptVideoARequest, type AcceptedVideoA } from '../rules/request.ts'
import { principalOf } from '../../../api/kit/tokens/authenticate.ts'
import {
  creationsOf,
  submitted,
  type TaskCreation,
  taskAssetsOf,
  taskKeyOf,
  setTaskHeaders,
} from '../../../api/kit/routes/tasks.ts'
import { publicUrl } from '../../../api/kit/bodies/member-checks.ts'
import type { Services } from '../../../api/kit/services.ts'
import type { Mount } from '../../../api/kit/routes/surface.ts'
import { videoTasks } from '../../../api/kit/routes/documentation.ts'
import {
  deletionFailures,
  ownParts,
  queryFailures,
} from '../../../api/kit/failures/route-failures.ts'
import { videoACreateFailures, describeVideoA, provAEnvelope } from './envelope.ts'
import {
  CreatedTaskSchema,
  DeletedTaskSchema,
  ListTasksQuerySchema,
  readListQuery,
  TaskListSchema,
  TaskParamsSchema,
  TaskSchema,
  toTask,
} from './answers.ts'

/** The `/provA` task interface. */

const family = 'video-a'
const path = '/api/v3/contents/generations/tasks'

export const provA: Mount = {
  prefix: '/provA',
  envelopeOf: () => provAEnvelope,
  // Inline images make it large.
  bodyBytes: 64 * 1024 * 1024,
  tags: [videoTasks],
}

const creation: TaskCreation<AcceptedVideoA> = {
  path,
  name: 'provA.tasks',
  body: videoABody,
  documented: describeVideoA({
    operationId: 'createVideoTask',
    summary: 'Create a video task',
    ok: CreatedTaskSchema,
    failures: videoACreateFailures,
  }),
  accept: async (body, _asked, { hosts }) => {
    const accepted = acceptVideoARequest(body)
    const { callbackUrl: url } = accepted
    const param = Object.hasOwn(body, 'callback_url') ? 'callback_url' : 'CallbackURL'
    const callbackUrl = url === undefined ? undefined : await publicUrl(url, param, hosts.resolve)
    return { ...accepted, callbackUrl }
  },
  creator: submitted,
  order: ({ model, facts, upstreamBody, callbackUrl, assets, projectName, ...others }) => ({
    family,
    model: model.name,
    facts,
    upstreamBody: (nativeIds) => upstreamBody({ callbackUrl, nativeIds }),
    hasCallback: callbackUrl !== undefined,
    assets: taskAssetsOf(assets, 'content', projectName),
    callerMarker: others.safetyIdentifier,
    executionExpiresAfterS: others.executionExpiresAfterS,
  }),
  answer: ({ nativeId }, { model }) => ({
    id: nativeId,
    ...(model.generation === '2.5' ? { model: model.name } : {}),
  }),
}

function taskRoutes(instance: FastifyInstance, { tasks }: Pick<Services, 'tasks'>): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get(path, {
    schema: {
      ...describeVideoA({
        operationId: 'listVideoTasks',
        summary: 'List video tasks',
        ok: TaskListSchema,
        failures: ownParts,
      }),
      querystring: ListTasksQuerySchema,
    },
    handler: async (request) => {
      const asked = readListQuery(request.query)
      const { items, total } = await tasks.listTasks({
        principal: principalOf(request),
        family,
        ...asked,
      })
      return { items: items.map(toTask), total }
    },
  })
  app.get(`${path}/:id`, {
    schema: {
      ...describeVideoA({
        operationId: 'getVideoTask',
        summary: 'Query a video task',
        costs: true,
        ok: TaskSchema,
        failures: queryFailures,
      }),
      params: TaskParamsSchema,
    },
    handler: async (request, reply) => {
      const view = await tasks.getTask(taskKeyOf(request, family, request.params.id))
      setTaskHeaders(reply, view)
      return toTask(view)
    },
  })
  app.delete(`${path}/:id`, {
    schema: {
      ...describeVideoA({
        operationId: 'deleteVideoTask',
        summary: 'Cancel a queued task or hide a finished one',
        ok: DeletedTaskSchema,
        failures: deletionFailures,
      }),
      params: TaskParamsSchema,
    },
    handler: async (request, reply) => {
      const deleted = await tasks.deleteTask(taskKeyOf(request, family, request.params.id))
      void reply.header('x-platform-id', deleted.platformId)
      return {}
    },
  })
}

export const provASurface = creationsOf(provA, [creation], taskRoutes)
