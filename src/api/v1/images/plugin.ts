import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ImageCallFamily } from '../../../app/calls/images/family.ts'
import type { CallRunner } from '../../../app/calls/running-calls.ts'
import type { ImageFrame } from '../../../app/ports/images.ts'
import type { ImageTaskUseCases } from '../../../app/tasks/images/types.ts'
import type { Catalog } from '../../../domain/catalog/catalog.ts'
import type { ImageKind } from '../../../domain/catalog/image-rules.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { principalOf } from '../../kit/authenticate.ts'
import { callExamples, callFailures, imageFailures } from '../../kit/call-failures.ts'
import { answerStream, callerGone, callerPresence } from '../../kit/calls.ts'
import {
  setCallHeaders,
  limitHeadersOf,
  type LimitStatusesOf,
  costInLastFrame,
  withCost,
} from '../../kit/answer-headers.ts'
import { oneLine, type StreamDialect, type StreamLimits } from '../../kit/event-stream.ts'
import type { FailureCode } from '../../kit/failure-table.ts'
import type { ForeignNames } from '../../kit/foreign-members.ts'
import { CallKeySchema, keyedBy } from '../../kit/idempotency.ts'
import { sendInPieces } from '../../kit/json-in-pieces.ts'
import { typoCheck, refuseTypos, refuseTyposInParts } from '../../kit/typo-check.ts'
import { type FormLimits, useForms } from '../../kit/multipart.ts'
import { describe } from '../documentation.ts'
import { v1Error } from '../envelope.ts'
import { asyncImageRoutes } from './async.ts'
import { type ImageOrderDeps, readOrder, imageBodies, ImagesSchema } from './order.ts'

export interface ImageRouteDeps {
  readonly catalog: Catalog
  readonly calls: CallRunner
  readonly images: ImageCallFamily
  readonly imageTasks: ImageTaskUseCases
  readonly resolveHost: ResolveHost
  readonly formLimits: FormLimits
  readonly streamLimits: StreamLimits
  readonly limitStatusesOf: LimitStatusesOf
  /** Members of other interfaces' creations, which this one refuses. */
  readonly foreignMembers: ForeignNames
}

const failures: readonly FailureCode[] = [...callFailures, ...imageFailures]

async function answer(
  deps: ImageRouteDeps & ImageOrderDeps,
  kind: ImageKind,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const order = await readOrder(request, kind, deps)
  // From now on only the use case holds the body.
  request.body = undefined
  const asked = {
    ...order,
    surface: `v1.images.${kind}s`,
    principal: principalOf(request),
    requestId: request.id,
    ...keyedBy(request),
  }
  if (order.request.streamed) {
    const gone = callerGone(reply)
    return answerStream(request, reply, {
      gone,
      call: deps.calls.stream(deps.images, { ...asked, callerGone: gone.signal }),
      dialect: imagesDialect(),
      limits: deps.streamLimits,
      headers: () => limitHeadersOf(request, deps.limitStatusesOf),
    })
  }
  const call = await deps.calls.complete(deps.images, {
    ...asked,
    callerGone: callerPresence(reply),
  })
  setCallHeaders(reply, call)
  return sendInPieces(reply, call.body, deps.streamLimits)
}

/** Synchronous images, registered below `/v1`. */
export function imagesPlugin(given: ImageRouteDeps) {
  const names = { foreign: given.foreignMembers }
  const { generation, edit, editTask } = imageBodies(given.catalog)
  const checkEdit = typoCheck(edit, names)
  const deps = { ...given, checkParts: refuseTyposInParts(checkEdit) }
  // Each family checks its own fields; the schema only finds misspelled names.
  const onlySpelling = refuseTypos(names)
  return async (app: FastifyInstance): Promise<void> => {
    await useForms(app)
    app.post('/images/generations', {
      validatorCompiler: onlySpelling,
      schema: {
        ...describe({
          tag: 'Images',
          operationId: 'createImage',
          summary: 'Generate images',
          isCall: true,
          ok: ImagesSchema,
          failures,
          further: callExamples('prompt'),
        }),
        headers: CallKeySchema,
        body: generation,
      },
      handler: (request, reply) => answer(deps, 'generation', request, reply),
    })
    app.post('/images/edits', {
      validatorCompiler: onlySpelling,
      schema: {
        ...describe({
          tag: 'Images',
          operationId: 'editImage',
          summary: 'Edit images',
          isCall: true,
          ok: ImagesSchema,
          failures,
          further: callExamples('images'),
        }),
        headers: CallKeySchema,
        body: edit,
      },
      handler: (request, reply) => answer(deps, 'edit', request, reply),
    })
    asyncImageRoutes(app, deps, onlySpelling, { generation, editTask })
  }
}

/** How streams of images are written: named events, `[DONE]` at the end. */
function imagesDialect(): StreamDialect<ImageFrame> {
  return {
    ...costInLastFrame(
      ({ event, data }, cost) => `event: ${event}\ndata: ${oneLine(withCost(data, cost))}\n\n`,
    ),
    failure: (error) => `data: ${JSON.stringify({ error: v1Error(error) })}\n\n`,
    end: 'data: [DONE]\n\n',
  }
}
