import { runText } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamAnswer } from '../http/stream.ts'
import { type Fields, jsonBody } from '../kit/body.ts'
import { type Asker, TextService } from '../text/service.ts'
import { EVENT_STREAM } from '../text/wire.ts'
import { nativeBody, type NativeTail, nativeUsage } from './body.ts'
import { nativeError, nativeErrorAnswer, NativeRefusal } from './errors.ts'
import { nativeFrames } from './frames.ts'
import { lastUserText, parseNative } from './parse.ts'
import { keyedWire, type Target, targetOf } from './wire.ts'

const FAMILY = 'native'
const METHODS = ['generateContent', 'streamGenerateContent']

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
    const wire = keyedWire(FAMILY, kit)
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
