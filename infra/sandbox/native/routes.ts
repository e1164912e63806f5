import { answerCall, frameOf, textError, addCall, type Asker } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import { Refusal, type Wire } from '../http/wire.ts'
import type { Fields } from '../kit/body.ts'
import { callOf, TextService } from '../text/script.ts'
import { nativeBody, nativeFrames, type NativeTail, nativeUsage } from './body.ts'
import { lastUserText, parseNative } from './parse.ts'
import { JSON_HEADERS, keyedWire, messageOf, nativeError, type Target, targetOf } from './wire.ts'

const FAMILY = 'native'
const STREAMING = 'streamGenerateContent'

/** Answers a native request. */
function generate(
  { kit, wire, text }: { readonly kit: FamilyKit; readonly wire: Wire; readonly text: TextService },
  body: Fields | null,
  target: Target,
  asker: Asker,
  faults: Faults,
) {
  const stream = target.method === STREAMING
  if (!stream && target.method !== 'generateContent')
    throw new Refusal('NOT_FOUND', messageOf('NOT_FOUND'))
  const request = parseNative(body, target.model, stream, kit.options)
  const { ids } = text
  const script = text.plan(request, asker, faults)
  const reported = nativeUsage(request, script.usage)
  const tail: NativeTail = { modelVersion: request.model.version, responseId: ids.next('') }
  const breaksBy = stream && target.events && faults.has('error-after') ? 'UNAVAILABLE' : null
  const accepted = { ...callOf(request, script, tail.responseId, reported), breaksBy }
  return answerCall(kit, wire, { asker, faults }, accepted, ({ facts }) => {
    const usage = !isOn(faults, 'no-usage')
    const whole = { headers: JSON_HEADERS, usage }
    const answer = { request, script, tail, tellsUsage: usage, ids, faults }
    if (!stream) return { ...whole, body: nativeBody(answer) }
    const frames = nativeFrames(answer)
    if (!target.events)
      return { ...whole, body: `[${Array.from(frames, (frame) => frame.data).join(',\r\n')}]` }
    const error = nativeError(facts.failCode ?? 'UNAVAILABLE', faults)
    return {
      headers: {},
      eol: isOn(faults, 'lf') ? '\n' : '\r\n',
      frames,
      failure: () => textError(frameOf(error, { last: true }), faults),
    }
  })
}

/** The native generation upstream. */
export const native: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const text = new TextService(kit)
    const wire = keyedWire(FAMILY, kit)
    addCall(app, kit, wire, '/v1beta/models/:target', (body, request) => {
      const target = targetOf(request)
      return {
        op: target.method === STREAMING ? 'stream' : 'create',
        model: target.model,
        userText: lastUserText(body),
        perform: (asker, faults) => generate({ kit, wire, text }, body, target, asker, faults),
      }
    })
  },
}
