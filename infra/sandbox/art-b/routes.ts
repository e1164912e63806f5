import type { FastifyInstance, FastifyRequest } from 'fastify'
import { acceptPictures } from '../calls/accept.ts'
import { bearerKey, runText, type TextWire } from '../calls/run.ts'
import type { AcceptedCall } from '../calls/store.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn, UnknownSwitch, wordOf } from '../faults/vocabulary.ts'
import {
  errorAnswer,
  failureAnswer,
  messageOf,
  newRequestId,
  Refusal,
} from '../http/dotted-errors.ts'
import { type Answer, runExchange } from '../http/exchange.ts'
import type { StreamAnswer, StreamFrame } from '../http/stream.ts'
import { type Fields, jsonBody, textIn } from '../kit/body.ts'
import { IdMaker } from '../kit/random.ts'
import type { Asker } from '../text/service.ts'
import { EVENT_STREAM } from '../text/wire.ts'
import { bytesOf, fileAnswer, fileName, PICTURES_PATH, urlOf } from './files.ts'
import { type DrawingAsk, parseDrawing } from './parse.ts'
import { drawingUsage, type Drawn, errorOf, planDrawing } from './plan.ts'

const FAMILY = 'art-b'

/** An accepted request and all its answer is made of. */
interface Drawing {
  readonly ask: DrawingAsk
  readonly id: string
  readonly created: number
  readonly drawn: readonly Drawn[]
  readonly usage: object | null
  readonly faults: Faults
  readonly call: AcceptedCall
}

/** Makes pictures. */
class DrawingService {
  readonly #kit: FamilyKit
  readonly #ids: IdMaker

  constructor(kit: FamilyKit) {
    this.#kit = kit
    this.#ids = new IdMaker(kit.random)
  }

  async create(body: Fields | null, asker: Asker, faults: Faults): Promise<Answer | StreamAnswer> {
    const ask = await parseDrawing(body)
    const fail = wordOf(faults, 'fail')
    const streamFails = ask.stream && faults.has('error-after')
    const drawing = this.#accept(
      ask,
      asker,
      faults,
      fail ?? (streamFails ? 'InternalServiceError' : null),
    )
    if (fail !== null && !streamFails)
      return { ...errorAnswer(fail, messageOf(fail), '', this.requestId()), call: drawing.call }
    return ask.stream ? this.#stream(drawing) : this.#whole(drawing)
  }

  requestId(): string {
    return newRequestId(this.#kit.random, this.#kit.clock.nowMs())
  }

  #accept(ask: DrawingAsk, asker: Asker, faults: Faults, failCode: string | null): Drawing {
    const drawn = planDrawing(ask, faults)
    const usage = drawingUsage(ask, drawn, faults)
    const id = this.#ids.next('')
    const failed = failCode ?? wordOf(faults, 'no-image')
    const call = acceptPictures(this.#kit, asker, {
      family: FAMILY,
      id,
      model: ask.model,
      stream: ask.stream,
      failCode: failed,
      inputTokens: 0,
      outputTokens: usage.output_tokens,
      wireUsage: usage,
      pictures: {
        count: failed === null ? usage.generated_images : 0,
        size: `${ask.width}x${ask.height}`,
      },
      toolCalls: { web_search: usage.tool_usage?.web_search ?? 0 },
    })
    const reported = isOn(faults, 'no-usage') ? null : usage
    const created = Math.floor(this.#kit.clock.nowMs() / 1000)
    return { ask, id, created, drawn, usage: reported, faults, call }
  }

  /** What is said of one picture, in base64 or by URL. */
  async #told({ ask, id, faults }: Drawing, drawn: Drawn): Promise<object> {
    if (drawn.kind === 'failed') return { error: drawn.error }
    const name = fileName(id, drawn.index, ask, faults)
    const place =
      ask.delivery === 'url'
        ? { url: urlOf(this.#kit, name) }
        : { b64_json: ((await bytesOf(name)) ?? Buffer.alloc(0)).toString('base64') }
    const size = `${ask.width}x${ask.height}`
    return { ...place, size, output_format: ask.format, ...drawn.layer }
  }

  async #whole(drawing: Drawing): Promise<Answer> {
    const { ask, created, drawn, usage, faults, call } = drawing
    const data: object[] = []
    for (const one of drawn) data.push(await this.#told(drawing, one))
    const noImage = wordOf(faults, 'no-image')
    return {
      status: 200,
      headers: { 'x-request-id': this.requestId() },
      call,
      usage: usage !== null,
      body: {
        model: ask.model,
        ...(isOn(faults, 'created-at') ? { created_at: created } : { created }),
        data,
        ...(noImage === null ? {} : { error: errorOf(noImage) }),
        ...(usage === null ? {} : { usage }),
      },
    }
  }

  async #stream(drawing: Drawing): Promise<StreamAnswer> {
    const { ask, created, drawn, usage, faults, call } = drawing
    const frames: StreamFrame[] = []
    const add = (type: string, more: object, end: Partial<StreamFrame> = {}): void => {
      const data = JSON.stringify({ type, model: ask.model, created, ...more })
      frames.push({ event: type, data, usage: false, last: false, ...end })
    }
    for (const one of drawn) {
      const word = one.kind === 'made' ? 'partial_succeeded' : 'partial_failed'
      const told = await this.#told(drawing, one)
      add(`image_generation.${word}`, { image_index: one.index, ...told })
    }
    const end = usage === null ? {} : { usage }
    add('image_generation.completed', end, { usage: usage !== null, last: true })
    frames.push({ event: null, data: '[DONE]', usage: false, last: true })
    return {
      status: 200,
      headers: { 'x-request-id': this.requestId(), ...EVENT_STREAM },
      eol: isOn(faults, 'crlf') ? '\r\n' : '\n',
      frames,
      failure: () => {
        const error = errorOf(call.facts.failCode ?? 'InternalServiceError')
        return { event: null, data: JSON.stringify({ error }), usage: false, last: true }
      },
      call,
    }
  }
}

function wireOf(kit: FamilyKit, service: DrawingService): TextWire {
  const refusal = (code: string, message = messageOf(code), param = ''): Answer =>
    errorAnswer(code, message, param, service.requestId())
  return {
    family: FAMILY,
    credential: (request) => {
      const key = bearerKey(kit.options.apiKeys, request)
      if (key === null) throw new Refusal('AuthenticationError', messageOf('AuthenticationError'))
      return key
    },
    refused: (error) => {
      if (error instanceof Refusal) return refusal(error.code, error.message, error.param)
      return error instanceof UnknownSwitch
        ? refusal('InvalidParameter.SandboxMarker', `${error.message}.`, 'prompt')
        : null
    },
    refusal: (code) => refusal(code),
    failure: (status) => failureAnswer(status, service.requestId()),
  }
}

/** One file of a result, to whoever holds its URL. */
function addPictureRoute(app: FastifyInstance, kit: FamilyKit, wire: TextWire): void {
  app.get(`${PICTURES_PATH}/:name`, async (request: FastifyRequest, reply) => {
    const { name } = request.params as { readonly name: string }
    const query = new URL(request.url, 'http://sandbox').searchParams
    await runExchange(
      kit,
      {
        family: FAMILY,
        op: 'media',
        subject: { model: null, id: name, clientMarker: null, safetyIdentifier: null },
        promptFaults: new Map(),
        perform: () => fileAnswer(name, query, kit.clock.nowMs()),
        refusal: wire.refusal,
        failure: wire.failure,
      },
      request,
      reply,
    )
    return reply
  })
}

/** The image upstream with versioned models: pictures one by one, in groups and streams. */
export const artB: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const service = new DrawingService(kit)
    const wire = wireOf(kit, service)
    app.post('/api/v3/images/generations', (request, reply) => {
      const body = jsonBody(request.body)
      return runText(
        kit,
        wire,
        {
          op: body?.['stream'] === true ? 'stream' : 'create',
          model: body === null ? null : textIn(body, 'model'),
          body,
          userText: (body && textIn(body, 'prompt')) ?? '',
          perform: (asker, faults) => service.create(body, asker, faults),
        },
        request,
        reply,
      )
    })
    addPictureRoute(app, kit, wire)
  },
}
