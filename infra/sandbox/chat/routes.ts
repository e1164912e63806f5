import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answerCall, frameOf, textError, addCall, type Asker, runCall } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import { idInPath, type Wire } from '../http/wire.ts'
import type { Fields } from '../kit/body.ts'
import { offeredModels, type TextModel } from '../text/ask.ts'
import { callOf, TextService } from '../text/script.ts'
import { errorObject, textHeaders, textWire } from '../text/wire.ts'
import { chatBody, chatFrames, chatUsage } from './body.ts'
import { lastUserText, modelNamed, parseChat } from './parse.ts'

const FAMILY = 'chat'
/** When every model was made, as their list says. */
const CREATED = 1_768_435_200

/** Answers a chat request. */
function create(
  { kit, wire, text }: { readonly kit: FamilyKit; readonly wire: Wire; readonly text: TextService },
  body: Fields | null,
  asker: Asker,
  faults: Faults,
) {
  const request = parseChat(body, kit.options)
  const { ids } = text
  const script = text.plan(request, asker, faults)
  const reported = chatUsage(script.usage, request.model.caches, faults)
  const head = {
    id: ids.next('chatcmpl-'),
    created: text.nowSeconds(),
    model: request.model.version,
  }
  const breaksBy = request.stream && faults.has('error-after') ? 'server_error' : null
  const accepted = { ...callOf(request, script, head.id, reported), breaksBy }
  return answerCall(kit, wire, { asker, faults }, accepted, ({ facts }) => {
    const usage = isOn(faults, 'no-usage') ? null : reported
    const headers = textHeaders(ids.next('req_'), faults)
    const answer = { head, request, script, usage, ids, faults }
    if (!request.stream) return { headers, body: chatBody(answer), usage: usage !== null }
    const error = { error: errorObject(facts.failCode ?? 'server_error') }
    return {
      headers,
      frames: chatFrames(answer),
      failure: () => textError(frameOf(error, { last: true }), faults),
    }
  })
}

function modelObject(model: TextModel): object {
  return { id: model.name, object: 'model', created: CREATED, owned_by: 'sandbox' }
}

/** `GET /v1/models` and one of them by id. */
function addModelRoutes(
  app: FastifyInstance,
  kit: FamilyKit,
  wire: Wire,
  { ids }: TextService,
): void {
  const answer =
    (read: (request: FastifyRequest) => object) =>
    (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const perform = (_asker: Asker, faults: Faults) => ({
        status: 200,
        body: read(request),
        headers: textHeaders(ids.next('req_'), faults),
      })
      const call = { op: 'models', model: null, body: null, userText: '', perform }
      return runCall(kit, wire, call, request, reply)
    }
  app.get(
    '/v1/models',
    answer(() => ({ object: 'list', data: offeredModels.map(modelObject) })),
  )
  app.get(
    '/v1/models/:id',
    answer((request) => modelObject(modelNamed(idInPath(request), kit.options))),
  )
}

/** The chat completions upstream, and the list of models. */
export const chat: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const text = new TextService(kit)
    const wire = textWire(FAMILY, kit, text.ids)
    addCall(app, kit, wire, '/v1/chat/completions', (body) => ({
      userText: lastUserText(body),
      perform: (asker, faults) => create({ kit, wire, text }, body, asker, faults),
    }))
    addModelRoutes(app, kit, wire, text)
  },
}
