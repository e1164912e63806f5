import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ImageUseCases } from '../../../app/calls/images/types.ts'
import type { ImageKind } from '../../../domain/families/image-rules.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { principalOf } from '../../kit/authenticate.ts'
import { callerPresence } from '../../kit/caller.ts'
import type { FailureCode } from '../../kit/failure-table.ts'
import { refuseMisspelt } from '../../kit/misspelt.ts'
import { type FormLimits, useForms } from '../../kit/multipart.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { callExamples, callFailures, imageFailures } from '../../kit/text-failures.ts'
import { alsoInImages } from '../also-known.ts'
import { describe } from '../documentation.ts'
import { readOrder } from './order.ts'
import { EditBodySchema, GenerationBodySchema, ImagesSchema } from './schemas.ts'

export interface ImageRouteDeps {
  readonly images: ImageUseCases
  readonly resolveHost: ResolveHost
  readonly formLimits: FormLimits
}

const validatorCompiler = refuseMisspelt(alsoInImages)
const failures: readonly FailureCode[] = [...callFailures, ...imageFailures]

async function answer(
  deps: ImageRouteDeps,
  kind: ImageKind,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<JsonObject> {
  const order = await readOrder(request, kind, deps)
  // From here on only the use case holds the body.
  request.body = undefined
  const call = await deps.images.make({
    ...order,
    surface: `v1.images.${kind}s`,
    principal: principalOf(request),
    requestId: request.id,
    callerGone: callerPresence(reply),
  })
  void reply.headers({ 'x-call-id': call.callId, 'cache-control': 'no-store' })
  return call.body
}

/** Synchronous images, to be registered below `/v1`. */
export function imagesPlugin(deps: ImageRouteDeps) {
  return async (app: FastifyInstance): Promise<void> => {
    await useForms(app)
    app.post('/images/generations', {
      // Each family judges its own fields; of the schema only misspelt names are told.
      validatorCompiler,
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
        body: GenerationBodySchema,
      },
      handler: (request, reply) => answer(deps, 'generation', request, reply),
    })
    app.post('/images/edits', {
      validatorCompiler,
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
        body: EditBodySchema,
      },
      handler: (request, reply) => answer(deps, 'edit', request, reply),
    })
  }
}
