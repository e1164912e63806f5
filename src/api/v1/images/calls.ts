import type { FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import type { ImageCallFamily } from '../../../app/calls/images/family.ts'
import type { ImageCallInput } from '../../../app/calls/images/types.ts'
import type { PricingInput } from '../../../app/calls/family.ts'
import type { ImageFrame } from '../../../app/ports/images.ts'
import type { Catalog } from '../../../domain/catalog/catalog.ts'
import type { ImageKind } from '../../../domain/catalog/image-rules.ts'
import { callExamples, callFailures, imageFailures } from '../../kit/call-failures.ts'
import { answerStream, answerWhole, callerGone, callSurface } from '../../kit/calls.ts'
import { costInLastFrame, withCost } from '../../kit/answer-headers.ts'
import { oneLine, type StreamDialect } from '../../kit/event-stream.ts'
import type { FailureCode } from '../../kit/failure-table.ts'
import { sendInPieces } from '../../kit/json-in-pieces.ts'
import type { FormLimits } from '../../kit/multipart.ts'
import { streamOptions, type Surface } from '../../kit/surface.ts'
import { describe } from '../documentation.ts'
import { v1Error } from '../envelope.ts'
import { v1 } from '../mount.ts'
import { imageBodies, ImagesSchema, readOrder } from './order.ts'

/** Synchronous images, below `/v1`. */

export interface ImageCallDeps {
  readonly catalog: Catalog
  readonly images: ImageCallFamily
  readonly formLimits: FormLimits
}

const failures: readonly FailureCode[] = [...callFailures, ...imageFailures]

interface ImageRoute {
  readonly kind: ImageKind
  readonly body: TSchema
  readonly documented: FastifySchema
  /** The bounds of a form; absent: only JSON is taken. */
  readonly forms?: FormLimits
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

function imageCall({ catalog, images }: ImageCallDeps, { kind, ...declared }: ImageRoute): Surface {
  return callSurface(v1, {
    ...declared,
    path: `/images/${kind}s`,
    name: `v1.images.${kind}s`,
    accept: async (
      body,
      { by, form },
      { resolveHost },
    ): Promise<{ readonly input: PricingInput<ImageCallInput> }> => {
      const order = await readOrder({ catalog, resolveHost }, kind, { body, form })
      return { input: { ...by, ...order } }
    },
    open: (services) => ({
      family: images,
      answer: async ({ input }, request, reply) => {
        const { calls, streamLimits } = services
        if (!input.request.streamed)
          return sendInPieces(reply, await answerWhole(calls, images, input, reply), streamLimits)
        const gone = callerGone(reply)
        return answerStream(request, reply, {
          gone,
          call: calls.stream(images, { ...input, callerGone: gone.signal }),
          dialect: imagesDialect(),
          ...streamOptions(services, request),
        })
      },
    }),
  })
}

/** Generates and edits images at once. */
export function imageCalls(deps: ImageCallDeps): readonly Surface[] {
  const { generation, edit } = imageBodies(deps.catalog)
  return [
    imageCall(deps, {
      kind: 'generation',
      body: generation,
      documented: describe({
        tag: 'Images',
        operationId: 'createImage',
        summary: 'Generate images',
        isCall: true,
        ok: ImagesSchema,
        failures,
        further: callExamples('prompt'),
      }),
    }),
    imageCall(deps, {
      kind: 'edit',
      body: edit,
      forms: deps.formLimits,
      documented: describe({
        tag: 'Images',
        operationId: 'editImage',
        summary: 'Edit images',
        isCall: true,
        ok: ImagesSchema,
        failures,
        further: callExamples('images'),
      }),
    }),
  ]
}
