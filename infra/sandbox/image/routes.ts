import type { FastifyInstance } from 'fastify'
import { answerCall, frameOf, NO_TOKENS, addCall, type Asker } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { StreamFrame } from '../http/stream.ts'
import type { Wire } from '../http/wire.ts'
import { readForm, textIn } from '../kit/body.ts'
import { IdMaker } from '../kit/clock.ts'
import { pictureOf } from '../media/pictures.ts'
import { errorObject, textHeaders, textWire } from '../text/wire.ts'
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
  const frame = (type: string, more: object, last: boolean): StreamFrame =>
    frameOf({ type, ...told, ...more }, { event: type, usage: last && 'usage' in reported, last })
  for (let index = 0; index < previews; index += 1)
    yield frame(`${events}.partial_image`, { partial_image_index: index }, false)
  yield frame(`${events}.completed`, reported, true)
}

/** Makes pictures. */
function make(
  { kit, wire, ids }: { readonly kit: FamilyKit; readonly wire: Wire; readonly ids: IdMaker },
  ask: ImageAsk,
  op: Op,
  asker: Asker,
  faults: Faults,
) {
  const usage = usageOf(ask, faults)
  const quality = wordOf(faults, 'quality') ?? ask.quality
  const size = `${ask.width}x${ask.height}`
  // An error that follows the finished picture takes nothing of it back.
  const breaks = ask.stream && (countOf(faults, 'error-after') ?? Infinity) <= ask.previews
  const isMade = wordOf(faults, 'fail') === null && !breaks
  const { input_tokens, output_tokens } = usage
  const accepted = {
    id: ids.next('img_'),
    model: ask.model,
    stream: ask.stream,
    breaksBy: breaks ? 'server_error' : null,
    usage: { ...NO_TOKENS, input_tokens, output_tokens },
    wireUsage: usage,
    pictures: { count: isMade ? ask.n : 0, size, quality },
  }
  return answerCall(kit, wire, { asker, faults }, accepted, async ({ facts }) => {
    const bytes = await pictureOf(ask.width, ask.height, ask.format, isOn(faults, 'black'))
    const b64_json = bytes.toString('base64')
    const reported = isOn(faults, 'no-usage') ? {} : { usage }
    const created = Math.floor(kit.clock.nowMs() / 1000)
    const headers = textHeaders(ids.next('req_'), faults)
    const { format: output_format, background } = ask
    if (!ask.stream) {
      const data = Array.from({ length: ask.n }, () => ({ b64_json }))
      const body = { created, data, background, output_format, quality, size, ...reported }
      return { headers, body, usage: 'usage' in reported }
    }
    const told = { b64_json, size, quality, background, output_format, created_at: created }
    const events = `image_${op === 'create' ? 'generation' : 'edit'}`
    const error = { type: 'error', error: errorObject(facts.failCode ?? 'server_error') }
    return {
      headers,
      eol: '\n',
      frames: framesOf(events, told, ask.previews, reported),
      failure: () => frameOf(error, { event: 'error', last: true }),
    }
  })
}

/** The Images API: generations, and edits as JSON or as a form. */
export const image: SandboxFamily = {
  name: FAMILY,
  register: (app: FastifyInstance, kit) => {
    const ids = new IdMaker(kit.random)
    const wire = textWire(FAMILY, kit, ids)
    const add = (path: string, op: Op): void =>
      addCall(app, kit, wire, `/images/v1/images/${path}`, async (json, request) => {
        const form = await readForm(request.body, request.headers['content-type'] ?? '')
        const body = form === null ? json : fieldsOfForm(form)
        return {
          op,
          model: body && textIn(body, 'model'),
          body,
          userText: (body && textIn(body, 'prompt')) ?? '',
          perform: async (asker, faults) => {
            const ask = await parseImage(body, form?.files ?? null)
            return make({ kit, wire, ids }, ask, op, asker, faults)
          },
        }
      })
    add('generations', 'create')
    add('edits', 'edit')
  },
}
