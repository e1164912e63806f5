import type { FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import type { ImageCallInput } from '../../../app/calls/images/types.ts'
import type { PricingInput } from '../../../app/calls/family.ts'
import type { ImageFrame } from '../../../app/ports/images.ts'
import type { Catalog } from '../../../domain/catalog/catalog.ts'
import type { ImageKind } from '../../../domain/catalog/image-rules.ts'
import { callExamples, callFailures, imageFailures } from '../../kit/failures/call-failures.ts'
import { answerStream, answerWhole, callerGone, callSurface } from '../../kit/routes/calls.ts'
import { costInLastFrame, withCost } from '../../kit/answers/answer-headers.ts'
import { oneLine, type StreamDialect } from '../../kit/answers/event-stream.ts'
import type { FailureCode } from '../../kit/failures/failure-table.ts'
import { sendInPieces } from '../../kit/answers/json-in-pieces.ts'
import type { FormKind } from '../../kit/services.ts'
import { streamOptions, type Surface } from '../../kit/routes/surface.ts'
import { describeV1 } from '../documentation.ts'
import { v1Error } from '../envelope.ts'
import { v1 } from '../mount.ts'
import { imageBodies, ImagesSchema, readOrder } from './order.ts'

/** Synchronous images, below `/v1`. */

const failures: readonly FailureCode[] = [...callFailures, ...imageFailures]

interface ImageRoute {
  readonly kind: ImageKind
  readonly body: TSchema
  readonly documented: FastifySchema
  /** The form it takes as well; absent: only JSON is taken. */
  readonly forms?: FormKind
}

/** Frames of streams of images: named events, and `[DONE]` at the end. */
function imagesDialect(): StreamDialect<ImageFrame> {
  return {
    ...costInLastFrame(
      ({ event, data }, cost) => `event: ${event}\ndata: ${oneLine(withCost(data, cost))}\n\n`,
    ),
    failure: (error) => `data: ${JSON.stringify({ error: v1Error(error) })}\n\n`,
    end: 'data: [DONE]\n\n',
  }
}

function imageCall({ kind, ...declared }: ImageRoute): Surface {
  return callSurface(v1, {
    ...declared,
    path: `/images/${kind}s`,
    name: `v1.images.${kind}s`,
    accept: async (
      body,
      { by, form },
      services,
    ): Promise<{ readonly input: PricingInput<ImageCallInput> }> => {
      const order = await readOrder(services, kind, { body, form })
      return { input: { ...by, ...order } }
    },
    open: (services) => ({
      family: services.images.family,
      answer: async ({ input }, request, reply) => {
        const { calls, images, http } = services
        if (!input.request.streamed) {
          const body = await answerWhole(calls, images.family, input, reply)
          return sendInPieces(reply, body, http.streams)
        }
        const gone = callerGone(reply)
        return answerStream(request, reply, {
          gone,
          call: calls.stream(images.family, { ...input, callerGone: gone.signal }),
          dialect: imagesDialect(),
          ...streamOptions(v1, services, request),
        })
      },
    }),
  })
}

/** Generates and edits images at once. */
export function imageCalls(catalog: Catalog): readonly Surface[] {
  const { generation, edit } = imageBodies(catalog)
  return [
    imageCall({
      kind: 'generation',
      body: generation,
      documented: describeV1({
        tag: 'Images',
        operationId: 'createImage',
        summary: 'Generate images',
        isCall: true,
        ok: ImagesSchema,
        failures,
        further: callExamples('prompt'),
      }),
    }),
    imageCall({
      kind: 'edit',
      body: edit,
      forms: 'image',
      documented: describeV1({
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
