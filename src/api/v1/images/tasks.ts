import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import type { ImageTaskView } from '../../../app/tasks/images/types.ts'
import type { Catalog } from '../../../domain/catalog/catalog.ts'
import type { ImageKind, ImageOrder } from '../../../domain/catalog/image-rules.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { principalOf } from '../../kit/tokens/authenticate.ts'
import { costHeaders } from '../../kit/answers/answer-headers.ts'
import { imageTaskFailures } from '../../kit/failures/call-failures.ts'
import { queryFailures } from '../../kit/failures/route-failures.ts'
import type { FormKind, Services } from '../../kit/services.ts'
import type { Surface } from '../../kit/routes/surface.ts'
import { creationsOf, type TaskCreation } from '../../kit/routes/tasks.ts'
import { describeV1 } from '../documentation.ts'
import { errorType } from '../envelope.ts'
import { v1 } from '../mount.ts'
import {
  CreatedImageTaskSchema,
  imageBodies,
  ImageTaskParamsSchema,
  ImageTaskSchema,
  type ReadOrder,
  readOrder,
} from './order.ts'

/** Asynchronous images: accepted immediately, made by the gateway's workers, polled by callers. */

interface ImageTaskRoute {
  readonly kind: ImageKind
  readonly operationId: string
  readonly summary: string
  readonly body: TSchema
  /** The form it takes as well; absent: only JSON is taken. */
  readonly forms?: FormKind
  /** The form in the description; JSON creates nothing then. */
  readonly form?: TSchema
}

const OBJECT = 'image.generation.task'
/** Seconds until the next poll. */
const RETRY_AFTER_S = 3

const seconds = (unixMs: number): number => Math.floor(unixMs / 1_000)

/** Refuses members that need a synchronous answer. @throws DomainError naming the member */
function refuseForTasks({ kind, form, fields, uploads }: ImageOrder): void {
  if (fields['stream'] === true)
    refuse('stream', '`stream` is not accepted for asynchronous images')
  if (fields['response_format'] === 'b64_json')
    refuse(
      'response_format',
      '`response_format` must be url: asynchronous images are always stored',
    )
  if (kind !== 'edit') return
  const other = uploads.find(({ name }) => name !== 'image' && name !== 'image[]')?.name
  const referring = ['images', 'image', 'image[]', 'image_urls', 'image_urls[]', 'mask'].find(
    (name) => fields[name] !== undefined,
  )
  const param = form === 'json' ? 'image' : (other ?? referring)
  if (param !== undefined)
    throw new DomainError(
      'unsupported_image_input',
      'Asynchronous edits need the pictures as files of the form, in `image` or `image[]`',
      { param },
    )
}

const lacking = new DomainError('invalid_request', '`prompt` is required', { param: 'prompt' })

function creationOf({
  kind,
  operationId,
  summary,
  form: documentedForm,
  ...declared
}: ImageTaskRoute): TaskCreation<ReadOrder, ReadOrder> {
  const described = describeV1({
    tag: 'Images',
    operationId,
    summary,
    ok: CreatedImageTaskSchema,
    failures: imageTaskFailures,
    further: [lacking],
  })
  return {
    ...declared,
    path: `/images/${kind}s/async`,
    name: `v1.images.${kind}s.async`,
    documented:
      documentedForm === undefined
        ? described
        : { ...described, consumes: ['multipart/form-data'], body: documentedForm },
    ...(documentedForm === undefined ? {} : { formsOnly: true }),
    accept: (body, { form }, services) => readOrder(services, kind, { body, form }, refuseForTasks),
    order: (order) => order,
    creator: ({ images }) => images.tasks,
    answer: ({ platformId, createdAtMs }, { model }, _request, reply) => {
      void reply.headers({
        location: `/v1/images/generations/${platformId}`,
        'retry-after': String(RETRY_AFTER_S),
        'cache-control': 'no-store',
      })
      return {
        id: platformId,
        object: OBJECT,
        status: 'pending',
        model,
        created_at: seconds(createdAtMs),
      }
    },
  }
}

/** Asynchronous images, below `/v1`. */
export function imageTaskSurface(catalog: Catalog): Surface {
  const { generation, edit, editTask } = imageBodies(catalog)
  const creations = [
    creationOf({
      kind: 'generation',
      operationId: 'createImageTask',
      summary: 'Generate images asynchronously',
      body: generation,
    }),
    creationOf({
      kind: 'edit',
      operationId: 'createImageEditTask',
      summary: 'Edit images asynchronously',
      body: edit,
      forms: 'image',
      form: editTask,
    }),
  ]
  return creationsOf(v1, creations, statusRoute)
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

function statusRoute(instance: FastifyInstance, { images }: Pick<Services, 'images'>): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/images/generations/:id', {
    schema: {
      ...describeV1({
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
      const view = await images.tasks.get({
        principal: principalOf(request),
        id: request.params.id,
      })
      const isOpen = view.status === 'pending' || view.status === 'in_progress'
      void reply.headers({
        'x-platform-id': view.platformId,
        ...(view.status === 'completed' ? costHeaders(view.cost) : {}),
        // The answer may hold URLs that lead to the pictures.
        'cache-control': 'no-store',
        ...(isOpen ? { 'retry-after': String(RETRY_AFTER_S) } : {}),
      })
      return shown(view)
    },
  })
}
