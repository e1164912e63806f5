import { parseExactly } from '../../../src/kernel/exact-integers.ts'
import { answerCall, frameOf, textError, addCall, type Asker } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { Refusal, type Wire } from '../http/wire.ts'
import { type Fields, isFields } from '../kit/body.ts'
import { callOf, TextService, type PlannedCall, type Script } from '../text/script.ts'
import { lastUserText, parseNative, type NativeRequest } from './parse.ts'
import { JSON_HEADERS, keyedWire, messageOf, nativeError, type Target, targetOf } from './wire.ts'
import type { CallUsage } from '../calls/store.ts'
import type { StreamFrame } from '../http/stream.ts'
import type { IdMaker } from '../kit/clock.ts'
import { type InputKind, MEDIUM_TOKENS, promptTokens } from '../text/order.ts'

/** What every body of one answer ends with. */
interface NativeTail {
  readonly modelVersion: string
  readonly responseId: string
}

/** An answer and everything it is made of. */
interface NativeAnswer {
  readonly request: NativeRequest
  readonly script: Script
  readonly tail: NativeTail
  /** Whether answers have usage; each frame of a stream then has what was used up to it. */
  readonly hasUsage: boolean
  readonly ids: IdMaker
  readonly faults: Faults
}

const SIGNATURE = Buffer.from('sandbox-thought-signature').toString('base64')

type ModalityCount = { readonly modality: string; readonly tokenCount: number }

function promptDetails(request: NativeRequest, total: number): readonly ModalityCount[] {
  const counts = new Map<InputKind, number>()
  for (const unit of request.units) {
    for (const medium of unit.media) {
      counts.set(medium, (counts.get(medium) ?? 0) + MEDIUM_TOKENS[medium])
    }
  }
  let text = total
  for (const tokens of counts.values()) text -= tokens
  const media = [...counts].map(([modality, tokenCount]) => ({ modality, tokenCount }))
  return text > 0 ? [{ modality: 'TEXT', tokenCount: text }, ...media] : media
}

/** Usage in this wire's names, members that are zero left out. */
function nativeUsage(request: NativeRequest, usage: CallUsage): Record<string, unknown> {
  const candidates = usage.output_tokens - usage.reasoning_tokens
  const counts: readonly (readonly [string, number])[] = [
    ['promptTokenCount', usage.input_tokens],
    ['candidatesTokenCount', candidates],
    ['thoughtsTokenCount', usage.reasoning_tokens],
    ['cachedContentTokenCount', usage.cached_input_tokens],
    ['toolUsePromptTokenCount', usage.tool_prompt_tokens],
    ['totalTokenCount', usage.input_tokens + usage.output_tokens + usage.tool_prompt_tokens],
  ]
  const metadata: Record<string, unknown> = Object.fromEntries(
    counts.filter(([, count]) => count > 0),
  )
  const details = promptDetails(request, usage.input_tokens)
  if (usage.input_tokens > 0 && details.length > 0) metadata['promptTokensDetails'] = details
  if (candidates > 0) {
    metadata['candidatesTokensDetails'] = [{ modality: 'TEXT', tokenCount: candidates }]
  }
  return metadata
}

/** A function call as a part of the answer. */
function callPart(call: PlannedCall, ids: IdMaker): object {
  const args = parseExactly(call.arguments)
  return { functionCall: { id: ids.next(''), name: call.name, args }, thoughtSignature: SIGNATURE }
}

/** Why an answer ended; function calls end in the ordinary way on this wire. */
function finishReason(script: Script): string {
  return script.end === 'length' ? 'MAX_TOKENS' : 'STOP'
}

/** A candidate's members about built-in searches. */
function grounding(script: Script): object {
  const searches = script.builtins.filter((name) => name === 'web_search')
  if (searches.length === 0) return {}
  const web = { uri: 'https://news.example.com/sandbox', title: 'Sandbox news' }
  return {
    groundingMetadata: {
      webSearchQueries: searches.map((_, i) => `question ${i + 1}`),
      groundingChunks: [{ web }],
    },
  }
}

/** The body for a blocked prompt: no candidates. */
function blockedBody(usage: object | null, tail: NativeTail): object {
  return {
    promptFeedback: { blockReason: 'SAFETY' },
    ...(usage === null ? {} : { usageMetadata: usage }),
    ...tail,
  }
}

/** The whole answer. */
function nativeBody(answer: NativeAnswer): object {
  const { request, script, tail, hasUsage, ids } = answer
  const usage = hasUsage ? nativeUsage(request, script.usage) : null
  if (script.end === 'blocked') return blockedBody(usage, tail)
  const thoughts = script.thoughts.text
  const signed = script.usage.reasoning_tokens > 0 ? { thoughtSignature: SIGNATURE } : {}
  const candidates = Array.from({ length: request.choices }, (_, index) => ({
    content: {
      parts: [
        ...(thoughts === '' ? [] : [{ text: thoughts, thought: true }]),
        ...(script.answer.text === '' ? [] : [{ text: script.answer.text, ...signed }]),
        ...script.calls.map((call) => callPart(call, ids)),
      ],
      role: 'model',
    },
    finishReason: finishReason(script),
    index,
    ...grounding(script),
  }))
  return { candidates, ...(usage === null ? {} : { usageMetadata: usage }), ...tail }
}

/** Parts of the answer with the bytes of answer text each adds. */
function* parts(stream: NativeAnswer): Iterable<readonly [object, number]> {
  const { script, ids } = stream
  for (const text of script.thoughts.pieces) yield [{ text, thought: true }, 0]
  for (const text of script.answer.pieces) yield [{ text }, Buffer.byteLength(text)]
  for (const call of script.calls) yield [callPart(call, ids), 0]
}

/** Usage after some of the answer: thoughts come first, so they are all counted once text flows. */
function usageSoFar(stream: NativeAnswer, sentBytes: number): object {
  const { usage } = stream.script
  const visible = Math.ceil(sentBytes / 4)
  const output = Math.min(usage.output_tokens, usage.reasoning_tokens + visible)
  return nativeUsage(stream.request, { ...usage, output_tokens: output })
}

/** Every frame of a stream, made as it is asked for; the last one bears the reason and the total. */
function* nativeFrames(stream: NativeAnswer): Iterable<StreamFrame> {
  const { request, script, tail, hasUsage } = stream
  const total = nativeUsage(request, script.usage)
  const frame = (body: object, last: boolean): StreamFrame =>
    frameOf(body, { usage: last && hasUsage, last })
  if (script.end === 'blocked') {
    yield frame(blockedBody(hasUsage ? total : null, tail), true)
    return
  }
  const bodyOf = (part: object, usage: object, end: object): object => {
    const candidates = Array.from({ length: request.choices }, (_, index) => ({
      content: { parts: [part], role: 'model' },
      ...end,
      index,
    }))
    return { candidates, ...(hasUsage ? { usageMetadata: usage } : {}), ...tail }
  }
  let sentBytes = 0
  for (const [part, bytes] of parts(stream)) {
    sentBytes += bytes
    yield frame(bodyOf(part, usageSoFar(stream, sentBytes), {}), false)
    if (isOn(stream.faults, 'unknown-events')) yield frame({ xSandbox: 'unknown', ...tail }, false)
  }
  const end = { finishReason: finishReason(script), ...grounding(script) }
  yield frame(bodyOf({ text: '' }, total, end), true)
}

const FAMILY = 'native'
const STREAMING = 'streamGenerateContent'
const COUNTING = 'countTokens'

/** Counts the tokens of turns, or of a whole request; nothing is accepted. @throws Refusal */
function countTokens(kit: FamilyKit, body: Fields | null, target: Target): Answer {
  const whole = body?.['generateContentRequest']
  const unknown = Object.keys(body ?? {}).find(
    (name) => name !== 'contents' && name !== 'generateContentRequest',
  )
  if (unknown !== undefined)
    throw new Refusal(
      'INVALID_ARGUMENT',
      `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`,
    )
  if (isFields(whole) && whole['model'] !== `models/${target.model}`)
    throw new Refusal(
      'INVALID_ARGUMENT',
      '* CountTokensRequest.generate_content_request.model: unexpected model name format',
    )
  const asked = isFields(whole) ? whole : body
  const request = parseNative(asked, target.model, false, kit.options)
  const total = promptTokens(request)
  return {
    status: 200,
    headers: JSON_HEADERS,
    body: { totalTokens: total, promptTokensDetails: promptDetails(request, total) },
  }
}

function countedText(body: Fields | null): string {
  const whole = body?.['generateContentRequest']
  return lastUserText(isFields(whole) ? whole : body)
}

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
    const answer = { request, script, tail, hasUsage: usage, ids, faults }
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
      if (target.method === COUNTING)
        return {
          op: 'count',
          model: target.model,
          userText: countedText(body),
          perform: () => countTokens(kit, body, target),
        }
      return {
        op: target.method === STREAMING ? 'stream' : 'create',
        model: target.model,
        userText: lastUserText(body),
        perform: (asker, faults) => generate({ kit, wire, text }, body, target, asker, faults),
      }
    })
  },
}
