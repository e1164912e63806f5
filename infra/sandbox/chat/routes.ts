import type { FastifyInstance } from 'fastify'
import { runText } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamAnswer } from '../http/stream.ts'
import { type Fields, jsonBody, textIn } from '../kit/body.ts'
import { type Asker, TextService } from '../text/service.ts'
import {
  bearerWire,
  errorObject,
  EVENT_STREAM,
  TextErrors,
  textHeaders,
  textMessage,
  TextRefusal,
} from '../text/wire.ts'
import { chatBody, type ChatHead, chatUsage } from './body.ts'
import { chatFrames } from './chunks.ts'
import { addModelRoutes } from './model-routes.ts'
import { lastUserText, parseChat } from './parse.ts'

const FAMILY = 'chat'

/** Answers chat requests. */
class ChatService {
  readonly #kit: FamilyKit
  readonly #text: TextService
  readonly #errors: TextErrors

  constructor(kit: FamilyKit, text: TextService, errors: TextErrors) {
    this.#kit = kit
    this.#text = text
    this.#errors = errors
  }

  create(body: Fields | null, asker: Asker, faults: Faults): Answer | StreamAnswer {
    const request = parseChat(body, this.#kit.options)
    const { ids } = this.#text
    const script = this.#text.plan(request, asker, faults)
    const reported = chatUsage(script.usage, request.model.caches, faults)
    const head: ChatHead = {
      id: ids.next('chatcmpl-'),
      created: this.#text.nowSeconds(),
      model: request.model.version,
    }
    const streamFails = request.stream && faults.has('error-after')
    const fail = wordOf(faults, 'fail')
    const failCode = fail ?? (streamFails ? 'server_error' : null)
    const call = this.#text.accept({
      family: FAMILY,
      id: head.id,
      ask: request,
      asker,
      script,
      wireUsage: reported,
      failCode,
    })
    if (fail !== null && !streamFails) {
      const refusal = new TextRefusal(fail, textMessage(fail))
      return { ...this.#errors.answer(refusal, faults), call }
    }
    const usage = isOn(faults, 'no-usage') ? null : reported
    const headers = textHeaders(ids.next('req_'), faults)
    if (!request.stream) {
      const answer = chatBody(head, request, script, usage, ids)
      return { status: 200, body: answer, headers, call, usage: usage !== null }
    }
    return {
      status: 200,
      headers: { ...headers, ...EVENT_STREAM },
      eol: isOn(faults, 'crlf') ? '\r\n' : '\n',
      frames: chatFrames({ head, request, script, usage, ids, faults }),
      failure: () => {
        const error = JSON.stringify({ error: errorObject(failCode ?? 'server_error') })
        return isOn(faults, 'bare-error')
          ? error
          : { event: null, data: error, usage: false, last: true }
      },
      call,
    }
  }
}

/** The chat completions upstream, and the list of models. */
export const chat: SandboxFamily = {
  name: FAMILY,
  register: (app: FastifyInstance, kit) => {
    const text = new TextService(kit)
    const errors = new TextErrors(text.ids)
    const service = new ChatService(kit, text, errors)
    const wire = bearerWire(FAMILY, kit.options, errors)
    app.post('/v1/chat/completions', (request, reply) => {
      const body = jsonBody(request.body)
      return runText(
        kit,
        wire,
        {
          op: body?.['stream'] === true ? 'stream' : 'create',
          model: body === null ? null : textIn(body, 'model'),
          body,
          userText: lastUserText(body),
          perform: (asker, faults) => service.create(body, asker, faults),
        },
        request,
        reply,
      )
    })
    addModelRoutes(app, kit, wire, text)
  },
}
