import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TaskKey, TaskView } from '../../../app/tasks/types.ts'
import { type VideoCMode, videoCModes } from '../rules/models.ts'
import { acceptVideoCRequest, type AcceptedVideoC, videoCBodies } from '../rules/request.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import {
  creationsOf,
  submitted,
  type TaskCreation,
  taskKeyOf,
  setTaskHeaders,
} from '../../../api/kit/routes/tasks.ts'
import { publicUrl } from '../../../api/kit/bodies/member-checks.ts'
import type { Services } from '../../../api/kit/services.ts'
import type { Mount } from '../../../api/kit/routes/surface.ts'
import { videoTasks } from '../../../api/kit/routes/documentation.ts'
import { creationFailures, queryFailures } from '../../../api/kit/failures/route-failures.ts'
import {
  ClipParamsSchema,
  ClipSchema,
  CreatedClipSchema,
  requestSettingsOf,
  toClip,
} from './answers.ts'
import { cancelFailures, describeVideoC, provCEnvelope } from './envelope.ts'

/** The `/provC` task interface. */

const family = 'video-c'

export const provC: Mount = {
  prefix: '/provC',
  envelopeOf: () => provCEnvelope,
  // Inline images make it large.
  bodyBytes: 64 * 1024 * 1024,
  tags: [videoTasks],
}

/** Each path in words. */
const summaries: Readonly<Record<VideoCMode, readonly [operationId: string, summary: string]>> = {
  text2video: ['createClipFromText', 'Create a video from a text'],
  img2video: ['createClipFromImage', 'Create a video from a first picture'],
  'start-end2video': ['createClipBetweenImages', 'Create a video from a first and a last picture'],
  reference2video: ['createClipFromReferences', 'Create a video from reference pictures'],
}

function creationOf(mode: VideoCMode): TaskCreation<AcceptedVideoC> {
  const [operationId, summary] = summaries[mode]
  return {
    path: `/ent/v2/${mode}`,
    // A key used in another mode refers to another task.
    name: `provC.${mode}`,
    body: videoCBodies[mode],
    documented: describeVideoC({
      operationId,
      summary,
      ok: CreatedClipSchema,
      failures: creationFailures,
    }),
    accept: async (body, _asked, { hosts }) => {
      const accepted = acceptVideoCRequest(mode, body)
      const { callbackUrl: url } = accepted
      const callbackUrl =
        url === undefined ? undefined : await publicUrl(url, 'callback_url', hosts.resolve)
      return { ...accepted, callbackUrl }
    },
    creator: submitted,
    order: ({ model, facts, upstreamBody, callbackUrl, payload }) => ({
      family,
      model: model.name,
      facts,
      upstreamBody: () => upstreamBody({ callbackUrl }),
      hasCallback: callbackUrl !== undefined,
      callerMarker: payload,
    }),
    answer: ({ nativeId, platformId, createdAtMs }, { model, facts, payload }) => ({
      task_id: nativeId,
      id: nativeId,
      platform_id: platformId,
      state: 'created',
      model: model.name,
      ...requestSettingsOf(facts.settings),
      payload: payload ?? '',
      created_at: toTimestamp(createdAtMs),
    }),
  }
}

function taskRoutes(instance: FastifyInstance, { tasks }: Pick<Services, 'tasks'>): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const answered =
    (act: (key: TaskKey) => Promise<TaskView>) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const { id } = request.params as { readonly id: string }
      const view = await act(taskKeyOf(request, family, id))
      setTaskHeaders(reply, view)
      return toClip(view)
    }
  app.get('/ent/v2/tasks/:id/creations', {
    schema: {
      ...describeVideoC({
        operationId: 'getClip',
        summary: 'Query a video of the third family',
        costs: true,
        ok: ClipSchema,
        failures: queryFailures,
      }),
      params: ClipParamsSchema,
    },
    handler: answered(tasks.getTask),
  })
  app.post('/ent/v2/tasks/:id/cancel', {
    config: { startsNothing: true },
    schema: {
      ...describeVideoC({
        operationId: 'cancelClip',
        summary: 'Cancel a queued video',
        ok: ClipSchema,
        failures: cancelFailures,
      }),
      params: ClipParamsSchema,
    },
    handler: answered(tasks.cancelTask),
  })
}

export const provCSurface = creationsOf(provC, videoCModes.map(creationOf), taskRoutes)
