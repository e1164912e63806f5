import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { runText, type TextWire } from '../calls/run.ts'
import type { FamilyKit } from '../family.ts'
import type { Faults } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { offeredModels, type TextModel } from '../text/models.ts'
import type { Asker, TextService } from '../text/service.ts'
import { textHeaders } from '../text/wire.ts'
import { modelNamed } from './parse.ts'

const CREATED = 1_768_435_200

function modelObject(model: TextModel): object {
  return { id: model.name, object: 'model', created: CREATED, owned_by: 'sandbox' }
}

/** `GET /v1/models` and one of them by id. */
export function addModelRoutes(
  app: FastifyInstance,
  kit: FamilyKit,
  wire: TextWire,
  text: TextService,
): void {
  const answer =
    (read: (request: FastifyRequest) => object) =>
    (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const perform = (_asker: Asker, faults: Faults): Answer => ({
        status: 200,
        body: read(request),
        headers: textHeaders(text.ids.next('req_'), faults),
      })
      return runText(
        kit,
        wire,
        { op: 'models', model: null, body: null, userText: '', perform },
        request,
        reply,
      )
    }
  app.get(
    '/v1/models',
    answer(() => ({ object: 'list', data: offeredModels.map(modelObject) })),
  )
  app.get(
    '/v1/models/:id',
    answer((request) =>
      modelObject(modelNamed((request.params as { readonly id: string }).id, kit.options)),
    ),
  )
}
