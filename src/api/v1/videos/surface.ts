import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OpenResult, TaskKey, TaskView } from '../../../app/tasks/types.ts'
import { type Catalog, videoFamilyNames, videoRules } from '../../../domain/catalog/catalog.ts'
import type { SimpleVideo } from '../../../domain/catalog/simple-video.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import { sha256Hex } from '../../../kernel/ids.ts'
import { principalOf } from '../../kit/tokens/authenticate.ts'
import { callerGone } from '../../kit/routes/calls.ts'
import type { Services } from '../../kit/services.ts'
import type { Surface } from '../../kit/routes/surface.ts'
import {
  creationsOf,
  setTaskHeaders,
  submitted,
  taskAssetsOf,
  type TaskCreation,
  taskKeyOf,
} from '../../kit/routes/tasks.ts'
import {
  assetFailures,
  creationFailures,
  deletionFailures,
  ownParts,
  queryFailures,
} from '../../kit/failures/route-failures.ts'
import { describeV1 } from '../documentation.ts'
import { v1 } from '../mount.ts'
import { acceptVideo, CreateVideoBodySchema, readVideoOrder } from './order.ts'
import {
  DEFAULT_PAGE_VIDEOS,
  DeletedVideoSchema,
  VideoContentQuerySchema,
  VideoListQuerySchema,
  VideoListSchema,
  VideoParamsSchema,
  VideoSchema,
  toVideo,
} from './view.ts'

type VideoReading = Pick<Services, 'models' | 'tasks'>

const tag = { tag: 'Videos' } as const

/** Once a task has its id it may have been submitted, unless upstream refused it. */
function mayExist(error: unknown): unknown {
  if (!isDomainError(error) || error.details['platformId'] === undefined) return error
  if (error.code === 'submission_refused') return error
  return new DomainError(error.code, error.message, { ...error.details, acceptance: 'unknown' })
}

/** A checked order, translated for its family. */
interface AcceptedOrder extends ReturnType<typeof acceptVideo> {
  readonly sent: SimpleVideo
}

function creationOf(catalog: Catalog): TaskCreation<AcceptedOrder> {
  return {
    path: '/videos',
    name: 'v1.videos',
    body: CreateVideoBodySchema,
    forms: 'image',
    documented: describeV1({
      ...tag,
      operationId: 'createVideo',
      summary: 'Create a video with a model of any family',
      ok: VideoSchema,
      failures: [...creationFailures, ...assetFailures],
      further: [new DomainError('invalid_request', '`model` is required', { param: 'model' })],
    }),
    accept: async (body, { principal, form }, services) => {
      const sent = await readVideoOrder({ body, form }, principal, services)
      return { ...acceptVideo(catalog, sent), sent: sent.order }
    },
    creator: submitted,
    order: ({ family, model, facts, upstreamBody, assets: used }) => ({
      family,
      model,
      facts,
      upstreamBody,
      assets: taskAssetsOf(used, 'input_reference'),
    }),
    // A form and JSON with the same content are the same request.
    hash: ({ sent }) => sha256Hex(JSON.stringify(sent)),
    failure: mayExist,
    answer: ({ platformId, nativeId, createdAtMs }, { family, model, facts: { settings } }) =>
      toVideo(catalog, {
        family,
        platformId,
        nativeId,
        model,
        status: 'queued',
        settings,
        createdAtMs,
      }),
  }
}

function keyOf(catalog: Catalog, request: FastifyRequest): TaskKey {
  const { id } = request.params as { readonly id: string }
  return taskKeyOf(request, videoFamilyNames(catalog), id)
}

function listRoute(instance: FastifyInstance, { models: { catalog }, tasks }: VideoReading): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/videos', {
    schema: {
      ...describeV1({
        ...tag,
        operationId: 'listVideos',
        summary: 'List the videos of the tenant, of every family',
        ok: VideoListSchema,
        failures: [...ownParts, 'invalid_request'],
      }),
      querystring: VideoListQuerySchema,
    },
    handler: async (request) => {
      const { after, limit = DEFAULT_PAGE_VIDEOS, order = 'desc' } = request.query
      const principal = principalOf(request)
      const asked = { principal, families: videoFamilyNames(catalog), order, limit }
      const page = await tasks.pageTasks({ ...asked, after })
      const data = page.items.map((task) => toVideo(catalog, task))
      return {
        object: 'list' as const,
        data,
        first_id: data.at(0)?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: page.hasMore,
      }
    },
  })
}

/** The name of the result link for each part of a video. */
function linkOf(catalog: Catalog, variant: string) {
  return ({ family }: TaskView): string | undefined => {
    const { video, picture } = videoRules(catalog, family).links
    if (variant === 'video') return video
    return variant === 'thumbnail' ? picture : undefined
  }
}

/** The bytes of a video, or a range if the caller asks for one and upstream supports it. */
async function sendContent(
  catalog: Catalog,
  openResult: OpenResult,
  key: TaskKey,
  variant: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { range } = request.headers
  const gone = callerGone(reply)
  const asked = { ...key, linkOf: linkOf(catalog, variant), range, signal: gone.signal }
  const { status, headers, body } = await openResult(asked)
  const { 'content-type': type = '', ...rest } = headers
  void reply.code(status).headers({ ...rest, 'cache-control': 'private' })
  // A browser must not render any other type as a page of the gateway.
  return reply.type(/^(?:video|image)\//.test(type) ? type : 'application/octet-stream').send(body)
}

/** Videos of every family, below `/v1`. */
export function videoSurface(catalog: Catalog): Surface {
  return creationsOf(v1, [creationOf(catalog)], (app, services) => {
    listRoute(app, services)
    oneRoutes(app, services)
    contentRoute(app, services)
  })
}

/** Shows and deletes one. */
function oneRoutes(instance: FastifyInstance, { models: { catalog }, tasks }: VideoReading): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/videos/:id', {
    schema: {
      ...describeV1({
        ...tag,
        operationId: 'getVideo',
        summary: 'Query a video',
        costs: true,
        ok: VideoSchema,
        failures: queryFailures,
      }),
      params: VideoParamsSchema,
    },
    handler: async (request, reply) => {
      const view = await tasks.getTask(keyOf(catalog, request))
      setTaskHeaders(reply, view)
      return toVideo(catalog, view)
    },
  })
  app.delete('/videos/:id', {
    schema: {
      ...describeV1({
        ...tag,
        operationId: 'deleteVideo',
        summary: 'Cancel a queued video or hide a finished one',
        ok: DeletedVideoSchema,
        failures: deletionFailures,
      }),
      params: VideoParamsSchema,
    },
    handler: async (request, reply) => {
      const { platformId } = await tasks.deleteTask(keyOf(catalog, request))
      void reply.header('x-platform-id', platformId)
      return { id: platformId, object: 'video.deleted' as const, deleted: true as const }
    },
  })
}

/** Upstream decides the type; a type that is neither a video nor a picture is downloaded. */
const VIDEO_FILES = {
  'video/mp4': 'The video.',
  'image/png': 'A picture of the video.',
  'image/jpeg': 'The same.',
  'image/webp': 'The same.',
  'application/octet-stream': 'The bytes, for any other media type.',
}

function contentRoute(
  instance: FastifyInstance,
  { models: { catalog }, tasks }: VideoReading,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/videos/:id/content', {
    schema: {
      ...describeV1({
        ...tag,
        operationId: 'downloadVideo',
        summary: 'Download a video or a picture of it',
        ok: undefined,
        files: VIDEO_FILES,
        hasRanges: true,
        failures: [...queryFailures, 'result_not_available', 'upstream_unavailable', 'overloaded'],
      }),
      params: VideoParamsSchema,
      querystring: VideoContentQuerySchema,
    },
    handler: (request, reply) => {
      const { variant = 'video' } = request.query
      return sendContent(
        catalog,
        tasks.openResult,
        keyOf(catalog, request),
        variant,
        request,
        reply,
      )
    },
  })
}
