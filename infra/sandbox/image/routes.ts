import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptPictures } from '../calls/accept.ts'
import { runText } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamAnswer, StreamFrame } from '../http/stream.ts'
import { jsonBody, readForm, textIn } from '../kit/body.ts'
import { IdMaker } from '../kit/random.ts'
import { pictureOf } from '../media/pictures.ts'
import type { Asker } from '../text/service.ts'
import {
  bearerWire,
  errorObject,
  EVENT_STREAM,
  TextErrors,
  textHeaders,
  textMessage,
  TextRefusal,
} from '../text/wire.ts'
import { fieldsOfForm, type ImageAsk, parseImage } from './parse.ts'

const FAMILY = 'image'
const TOKENS_OF_MEGAPIXEL: Readonly<Record<string, number>> = {
  low: 272,
  medium: 1056,
  high: 4160,
  xhigh: 8320,
  max: 16_640,
}
const TOKENS_OF_INPUT = 323

function usageOf(ask: ImageAsk, faults: Faults) {
  const text = isOn(faults, 'zero-usage') ? 0 : Math.ceil(ask.prompt.length / 4)
  const image = ask.inputs * TOKENS_OF_INPUT
  const megapixels = (ask.width * ask.height) / 1_048_576
  const each = Math.round(megapixels * (TOKENS_OF_MEGAPIXEL[ask.quality] ?? 0))
  const output = isOn(faults, 'zero-usage') ? 0 : (countOf(faults, 'tokens') ?? ask.n * each)
  const cached = countOf(faults, 'cached-tokens')
  return {
    input_tokens: text + image,
    output_tokens: output,
    total_tokens: text + image + output,
    input_tokens_details: {
      text_tokens: text,
      image_tokens: image,
      ...(cached === null ? {} : { cached_tokens: cached }),
    },
    output_tokens_details: { image_tokens: output, text_tokens: 0 },
  }
}

type Op = 'create' | 'edit'

/** Previews, then the picture with its usage. */
function* framesOf(
  events: string,
  told: object,
  previews: number,
  reported: object,
): Iterable<StreamFrame> {
  const frame = (type: string, more: object, isLast: boolean): StreamFrame => ({
    event: type,
    data: JSON.stringify({ type, ...told, ...more }),
    usage: isLast && 'usage' in reported,
    last: isLast,
  })
  for (let index = 0; index < previews; index += 1)
    yield frame(`${events}.partial_image`, { partial_image_index: index }, false)
  yield frame(`${events}.completed`, reported, true)
}

/** Makes pictures. */
class ImageService {
  readonly #kit: FamilyKit
  readonly #ids: IdMaker
  readonly #errors: TextErrors

  constructor(kit: FamilyKit, ids: IdMaker, errors: TextErrors) {
    this.#kit = kit
    this.#ids = ids
    this.#errors = errors
  }

  async make(ask: ImageAsk, op: Op, asker: Asker, faults: Faults): Promise<Answer | StreamAnswer> {
    const usage = usageOf(ask, faults)
    const quality = wordOf(faults, 'quality') ?? ask.quality
    const size = `${ask.width}x${ask.height}`
    const fail = wordOf(faults, 'fail')
    // An error that follows the finished picture takes nothing of it back.
    const streamFails = ask.stream && (countOf(faults, 'error-after') ?? Infinity) <= ask.previews
    const failCode = fail ?? (streamFails ? 'server_error' : null)
    const call = acceptPictures(this.#kit, asker, {
      family: FAMILY,
      id: this.#ids.next('img_'),
      model: ask.model,
      stream: ask.stream,
      failCode,
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      wireUsage: usage,
      pictures: { count: failCode === null ? ask.n : 0, size, quality },
    })
    if (fail !== null && !streamFails)
      return { ...this.#errors.answer(new TextRefusal(fail, textMessage(fail)), faults), call }
    const bytes = await pictureOf(ask.width, ask.height, ask.format, isOn(faults, 'black'))
    const base64 = bytes.toString('base64')
    const reported = isOn(faults, 'no-usage') ? {} : { usage }
    if (ask.stream) {
      const { format: output_format, background } = ask
      const told = { b64_json: base64, size, quality, background, output_format }
      const created_at = Math.floor(this.#kit.clock.nowMs() / 1000)
      const events = `image_${op === 'create' ? 'generation' : 'edit'}`
      return {
        status: 200,
        headers: { ...textHeaders(this.#ids.next('req_'), faults), ...EVENT_STREAM },
        eol: '\n',
        frames: framesOf(events, { ...told, created_at }, ask.previews, reported),
        failure: () => ({
          event: 'error',
          data: JSON.stringify({ type: 'error', error: errorObject(failCode ?? 'server_error') }),
          usage: false,
          last: true,
        }),
        call,
      }
    }
    return {
      status: 200,
      headers: textHeaders(this.#ids.next('req_'), faults),
      call,
      usage: !isOn(faults, 'no-usage'),
      body: {
        created: Math.floor(this.#kit.clock.nowMs() / 1000),
        data: Array.from({ length: ask.n }, () => ({ b64_json: base64 })),
        background: ask.background,
        output_format: ask.format,
        quality,
        size,
        ...reported,
      },
    }
  }
}

/** The Images API: generations, and edits as JSON or as a form. */
export const image: SandboxFamily = {
  name: FAMILY,
  register: (app: FastifyInstance, kit) => {
    const ids = new IdMaker(kit.random)
    const errors = new TextErrors(ids)
    const service = new ImageService(kit, ids, errors)
    const wire = bearerWire(FAMILY, kit.options, errors)
    const answer =
      (op: Op) =>
      async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
        const form = await readForm(request.body, request.headers['content-type'] ?? '')
        const body = form === null ? jsonBody(request.body) : fieldsOfForm(form)
        return runText(
          kit,
          wire,
          {
            op,
            model: body === null ? null : textIn(body, 'model'),
            body,
            userText: (body && textIn(body, 'prompt')) ?? '',
            perform: async (asker, faults) => {
              const ask = await parseImage(body, form?.files ?? null)
              return service.make(ask, op, asker, faults)
            },
          },
          request,
          reply,
        )
      }
    app.post('/images/v1/images/generations', answer('create'))
    app.post('/images/v1/images/edits', answer('edit'))
  },
}
