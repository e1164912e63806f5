import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
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
import { queryFailures } from '../../../api/kit/failures/route-failures.ts'
import type { Principal } from '../../../app/access/principal.ts'
import type { CreateTaskInput } from '../../../app/tasks/types.ts'
import type { LongText } from '../../../domain/catalog/checks/media.ts'
import { acceptVideoBRequest, type MediaItem, videoBBody } from '../rules/request.ts'
import { CreatedVideoSchema, toVideo, VideoParamsSchema, VideoSchema } from './answers.ts'
import { videoBCreateFailures, describeVideoB, provBV2Envelope } from './envelope.ts'

/** Checks of a request's media that need DNS or the log. */

interface LocatedMedia {
  /** The media URL of an item for upstream. */
  readonly urlOf: (item: MediaItem) => LongText
  /** The account that has all uploaded files of the request. */
  readonly channelId: string | undefined
}

/**
 * Looks up the hosts and uploaded files among the media, in parallel: a request has a dozen at
 * most.
 * @throws DomainError `invalid_request` naming the first item at fault
 */
async function locateMedia(
  media: readonly MediaItem[],
  principal: Principal,
  { files: { find }, hosts }: Pick<Services, 'files' | 'hosts'>,
): Promise<LocatedMedia> {
  const wanted = media.flatMap(({ locator, param }) =>
    locator.from === 'file' ? [{ fileId: locator.fileId, param }] : [],
  )
  const files = await find(principal, wanted)
  const urls = new Map<MediaItem, LongText>()
  const located = await Promise.allSettled(
    media.map(async (item) => {
      const { locator, param } = item
      if (locator.from === 'file') {
        const fileId = files?.upstreamIds.get(locator.fileId) ?? locator.fileId
        urls.set(item, `media_file://${fileId}`)
      } else
        urls.set(
          item,
          locator.from === 'web' ? await publicUrl(locator.url, param, hosts.resolve) : locator.url,
        )
    }),
  )
  for (const one of located) if (one.status === 'rejected') throw one.reason
  return { urlOf: (item) => urls.get(item) ?? '', channelId: files?.channelId }
}

/** The `/provB` video interface. */

const family = 'video-b'

export const provBV2: Mount = {
  prefix: '/provB/v2',
  envelopeOf: () => provBV2Envelope,
  // Base64 expansion counted.
  bodyBytes: 64 * 1024 * 1024,
  body: { keepsMedia: true },
  tags: [videoTasks],
}

type Accepted = Pick<
  CreateTaskInput,
  'model' | 'facts' | 'upstreamBody' | 'hasCallback' | 'channelId'
>

const creation: TaskCreation<Accepted> = {
  path: '/video_generation',
  name: 'provB.video',
  body: videoBBody,
  documented: describeVideoB({
    operationId: 'createVideoB',
    summary: 'Create a video of the second family',
    ok: CreatedVideoSchema,
    failures: videoBCreateFailures,
  }),
  accept: async (body, { principal }, services) => {
    const accepted = acceptVideoBRequest(body)
    const { urlOf, channelId } = await locateMedia(accepted.media, principal, services)
    const { callbackUrl: url } = accepted
    const callbackUrl =
      url === undefined ? undefined : await publicUrl(url, 'callback_url', services.hosts.resolve)
    const { model, facts } = accepted
    const upstreamBody = () => accepted.upstreamBody({ callbackUrl, urlOf })
    const hasCallback = callbackUrl !== undefined
    return { model: model.name, facts, upstreamBody, hasCallback, channelId }
  },
  creator: submitted,
  order: (accepted) => ({ family, ...accepted }),
  answer: ({ nativeId, platformId }) => ({ task_id: nativeId, platform_id: platformId }),
}

function taskRoutes(instance: FastifyInstance, { tasks }: Pick<Services, 'tasks'>): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get('/query/video_generation/:task_id', {
    schema: {
      ...describeVideoB({
        operationId: 'getVideoB',
        summary: 'Query a video of the second family',
        costs: true,
        ok: VideoSchema,
        failures: queryFailures,
      }),
      params: VideoParamsSchema,
    },
    handler: async (request, reply) => {
      const view = await tasks.getTask(taskKeyOf(request, family, request.params.task_id))
      setTaskHeaders(reply, view)
      return toVideo(view)
    },
  })
}

export const provBV2Surface = creationsOf(provBV2, [creation], taskRoutes)
