import type { FastifyRequest } from 'fastify'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { isOn, wordOf, type Faults } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamAnswer } from '../http/stream.ts'
import { jsonBody, type Fields } from '../text/fields.ts'
import { EVENT_STREAM } from '../text/headers.ts'
import { isLetIn, runText, type TextWire } from '../text/run.ts'
import { TextService, type Asker } from '../text/service.ts'
import { nativeBody, nativeUsage, type NativeTail } from './body.ts'
import {
  INVALID_KEY,
  nativeError,
  nativeErrorAnswer,
  nativeFailure,
  NativeRefusal,
  nativeRefused,
} from './errors.ts'
import { nativeFrames } from './frames.ts'
import { lastUserText, parseNative } from './parse.ts'

const FAMILY = 'native'
const METHODS = ['generateContent', 'streamGenerateContent']

/** What the path and the query ask for. */
interface Target {
  readonly model: string
  readonly method: string
  /** Frames of server-sent events; otherwise a stream is one JSON array. */
  readonly events: boolean
}

function targetOf(request: FastifyRequest): Target {
  const { target } = request.params as { readonly target: string }
  const colon = target.lastIndexOf(':')
  const events = new URL(request.url, 'http://sandbox').searchParams.get('alt') === 'sse'
  if (colon < 0) return { model: target, method: '', events }
  return { model: target.slice(0, colon), method: target.slice(colon + 1), events }
}

function nativeWire(kit: FamilyKit): TextWire {
  return {
    family: FAMILY,
    credential: (request) => {
      const key = request.headers['x-goog-api-key']
      if (typeof key !== 'string' || key === '') {
        throw new NativeRefusal(
          'PERMISSION_DENIED',
          "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
        )
      }
      if (!isLetIn(kit.options.apiKeys, key)) throw INVALID_KEY
      return key
    },
    refused: nativeRefused,
    refusal: (code, faults) => nativeErrorAnswer(code, faults),
    failure: nativeFailure,
  }
}

/** Answers a native request. */
function generate(
  kit: FamilyKit,
  text: TextService,
  body: Fields | null,
  target: Target,
  asker: Asker,
  faults: Faults,
): Answer | StreamAnswer {
  if (!METHODS.includes(target.method)) {
    throw new NativeRefusal('NOT_FOUND', 'Requested entity was not found.')
  }
  const stream = target.method === 'streamGenerateContent'
  const request = parseNative(body, target.model, stream, kit.options)
  const { ids } = text
  const script = text.plan(request, asker, faults)
  const reported = nativeUsage(request, script.usage)
  const tail: NativeTail = { modelVersion: request.model.version, responseId: ids.next('') }
  const breaks = stream && target.events && faults.has('error-after')
  const fail = wordOf(faults, 'fail')
  const failCode = fail ?? (breaks ? 'UNAVAILABLE' : null)
  const call = text.accept({
    family: FAMILY,
    id: tail.responseId,
    ask: request,
    asker,
    script,
    wireUsage: reported,
    failCode,
  })
  if (fail !== null && !breaks) return { ...nativeErrorAnswer(fail, faults), call }
  const tellsUsage = !isOn(faults, 'no-usage')
  const headers = { 'content-type': 'application/json; charset=UTF-8' }
  if (!stream) {
    const answer = nativeBody(request, script, tellsUsage ? reported : null, tail, ids)
    return { status: 200, body: answer, headers, call, usage: tellsUsage }
  }
  const frames = nativeFrames({ request, script, tail, tellsUsage, ids, faults })
  if (!target.events) {
    const array = `[${Array.from(frames, (frame) => frame.data).join(',\r\n')}]`
    return { status: 200, body: array, headers, call, usage: tellsUsage }
  }
  return {
    status: 200,
    headers: EVENT_STREAM,
    eol: isOn(faults, 'lf') ? '\n' : '\r\n',
    frames,
    failure: () => {
      const error = JSON.stringify(nativeError(failCode ?? 'UNAVAILABLE', faults))
      return isOn(faults, 'bare-error')
        ? error
        : { event: null, data: error, usage: false, last: true }
    },
    call,
  }
}

/** The native generation upstream. */
export const native: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const text = new TextService(kit)
    const wire = nativeWire(kit)
    app.post('/v1beta/models/:target', (request, reply) => {
      const body = jsonBody(request.body)
      const target = targetOf(request)
      return runText(
        kit,
        wire,
        {
          op: target.method === 'streamGenerateContent' ? 'stream' : 'create',
          model: target.model,
          body,
          userText: lastUserText(body),
          perform: (asker, faults) => generate(kit, text, body, target, asker, faults),
        },
        request,
        reply,
      )
    })
  },
}
