import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import type { ImageTaskUseCases, ImageTaskView } from '../../../app/tasks/images/types.ts'
import type { ImageKind, ImageOrder } from '../../../domain/catalog/image-rules.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { principalOf } from '../../kit/authenticate.ts'
import { costHeaders } from '../../kit/answer-headers.ts'
import { idempotencyKeyOf } from '../../kit/idempotency.ts'
import { imageTaskFailures } from '../../kit/call-failures.ts'
import { setCreationHeaders } from '../../kit/tasks.ts'
import { queryFailures } from '../../kit/route-failures.ts'
import { describe } from '../documentation.ts'
import { errorType } from '../envelope.ts'
import {
  type ImageOrderDeps,
  readOrder,
  CreatedImageTaskSchema,
  type imageBodies,
  ImageTaskParamsSchema,
  ImageTaskSchema,
} from './order.ts'

/** Asynchronous images: accepted at once, made by the gateway's workers, polled by callers. */

interface AsyncImageDeps extends ImageOrderDeps {
  readonly imageTasks: ImageTaskUseCases
}

const OBJECT = 'image.generation.task'
/** When to ask again, in seconds. */
const RETRY_AFTER_S = 3

const seconds = (unixMs: number): number => Math.floor(unixMs / 1_000)

/** Refuses members that need a synchronous answer. @throws DomainError naming the member */
export function refuseForTasks({ kind, form, fields, uploads }: ImageOrder): void {
  if (fields['stream'] === true) refuse('stream', '`stream` is not taken by asynchronous images')
  if (fields['response_format'] === 'b64_json')
    refuse('response_format', '`response_format` must be url: asynchronous images are kept')
  if (kind !== 'edit') return
  const other = uploads.find(({ name }) => name !== 'image' && name !== 'image[]')?.name
  const referring = ['images', 'image', 'image[]', 'image_urls', 'image_urls[]', 'mask'].find(
    (name) => fields[name] !== undefined,
  )
  const param = form === 'json' ? 'image' : (other ?? referring)
  if (param !== undefined)
    throw new DomainError(
      'unsupported_image_input',
      'Asynchronous edits take pictures as files of the form, in `image` or `image[]`',
      { param },
    )
}

async function create(
  deps: AsyncImageDeps,
  kind: ImageKind,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const idempotencyKey = idempotencyKeyOf(request)
  const order = await readOrder(request, kind, deps, refuseForTasks)
  // From now on only the use case holds the body.
  request.body = undefined
  const created = await deps.imageTasks.create({
    ...order,
    surface: `v1.images.${kind}s.async`,
    principal: principalOf(request),
    requestId: request.id,
    idempotencyKey,
  })
  const { platformId, createdAtMs } = created
  setCreationHeaders(reply, created)
  void reply.headers({
    location: `/v1/images/generations/${platformId}`,
    'retry-after': String(RETRY_AFTER_S),
    'cache-control': 'no-store',
  })
  return {
    id: platformId,
    object: OBJECT,
    status: 'pending',
    model: order.model,
    created_at: seconds(createdAtMs),
  } as const
}

/** A task as callers know it. */
function shown(view: ImageTaskView): JsonObject {
  const { platformId: id, model, createdAtMs, status } = view
  const task = { id, object: OBJECT, status, model, created_at: seconds(createdAtMs) }
  switch (status) {
    case 'pending':
    case 'in_progress':
      return task
    case 'completed': {
      const { completedAtMs, expiresAtMs, data } = view
      const completed = seconds(completedAtMs)
      return {
        ...view.shown,
        ...task,
        created: completed,
        data,
        completed_at: completed,
        expires_at: seconds(expiresAtMs),
      }
    }
    case 'failed': {
      const { code, message } = view.error
      return { ...task, error: { code, message, type: errorType(code), param: null } }
    }
  }
}

/** Must be registered where forms are accepted. */
export function asyncImageRoutes(
  instance: FastifyInstance,
  deps: AsyncImageDeps,
  validatorCompiler: FastifySchemaCompiler<TSchema>,
  { generation, editTask }: Pick<ReturnType<typeof imageBodies>, 'generation' | 'editTask'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const lacking = new DomainError('invalid_request', '`prompt` is required', { param: 'prompt' })
  app.post('/images/generations/async', {
    // Each family checks its own fields; the schema only finds misspelled names.
    validatorCompiler,
    schema: {
      ...describe({
        tag: 'Images',
        operationId: 'createImageTask',
        summary: 'Generate images asynchronously',
        ok: CreatedImageTaskSchema,
        failures: imageTaskFailures,
        further: [lacking],
      }),
      body: generation,
    },
    handler: (request, reply) => create(deps, 'generation', request, reply),
  })
  app.post('/images/edits/async', {
    // The reader of the form checks it.
    validatorCompiler: () => () => true,
    schema: {
      ...describe({
        tag: 'Images',
        operationId: 'createImageEditTask',
        summary: 'Edit images asynchronously',
        ok: CreatedImageTaskSchema,
        failures: imageTaskFailures,
        further: [lacking],
      }),
      consumes: ['multipart/form-data'],
      body: editTask,
    },
    handler: (request, reply) => create(deps, 'edit', request, reply),
  })
  statusRoute(app, deps)
}

function statusRoute(
  instance: FastifyInstance,
  { imageTasks }: Pick<AsyncImageDeps, 'imageTasks'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/images/generations/:id', {
    schema: {
      ...describe({
        tag: 'Images',
        operationId: 'getImageTask',
        summary: 'Query asynchronous images',
        costs: true,
        ok: ImageTaskSchema,
        failures: [...queryFailures, 'storage_unavailable'],
      }),
      params: ImageTaskParamsSchema,
    },
    handler: async (request, reply) => {
      const view = await imageTasks.get({
        principal: principalOf(request),
        id: request.params.id,
      })
      const isOpen = view.status === 'pending' || view.status === 'in_progress'
      void reply.headers({
        'x-platform-id': view.platformId,
        ...(view.status === 'completed' ? costHeaders(view.cost) : {}),
        // It may hold URLs that lead to the pictures.
        'cache-control': 'no-store',
        ...(isOpen ? { 'retry-after': String(RETRY_AFTER_S) } : {}),
      })
      return shown(view)
    },
  })
}
