import { type Faults, isOn } from '../faults/vocabulary.ts'
import type { StreamFrame } from '../http/stream.ts'
import type { IdMaker } from '../kit/random.ts'
import type { Script } from '../text/script.ts'
import {
  blockedBody,
  callPart,
  finishReason,
  grounding,
  type NativeTail,
  nativeUsage,
} from './body.ts'
import type { NativeRequest } from './parse.ts'

/** A stream's answer and everything its frames are made of. */
export interface NativeStream {
  readonly request: NativeRequest
  readonly script: Script
  readonly tail: NativeTail
  /** Whether usage is told, on every frame so far as it goes. */
  readonly tellsUsage: boolean
  readonly ids: IdMaker
  readonly faults: Faults
}

/** Parts of the answer with the bytes of answer text each adds. */
function* parts(stream: NativeStream): Iterable<readonly [object, number]> {
  const { script, ids } = stream
  for (const text of script.thoughts.pieces) yield [{ text, thought: true }, 0]
  for (const text of script.told.pieces) yield [{ text }, Buffer.byteLength(text)]
  for (const call of script.calls) yield [callPart(call, ids), 0]
}

/** Usage after some of the answer: thoughts come first, so they are all counted once text flows. */
function usageSoFar(stream: NativeStream, toldBytes: number): object {
  const { usage } = stream.script
  const visible = Math.ceil(toldBytes / 4)
  const output = Math.min(usage.output_tokens, usage.reasoning_tokens + visible)
  return nativeUsage(stream.request, { ...usage, output_tokens: output })
}

/** Every frame of a stream, made as it is asked for; the last one bears the reason and the total. */
export function* nativeFrames(stream: NativeStream): Iterable<StreamFrame> {
  const { request, script, tail, tellsUsage } = stream
  const total = nativeUsage(request, script.usage)
  const frame = (body: object, last: boolean): StreamFrame => ({
    event: null,
    data: JSON.stringify(body),
    usage: last && tellsUsage,
    last,
  })
  if (script.end === 'blocked') {
    yield frame(blockedBody(tellsUsage ? total : null, tail), true)
    return
  }
  const bodyOf = (part: object, usage: object, end: object): object => {
    const candidates = Array.from({ length: request.choices }, (_, index) => ({
      content: { parts: [part], role: 'model' },
      ...end,
      index,
    }))
    return { candidates, ...(tellsUsage ? { usageMetadata: usage } : {}), ...tail }
  }
  let toldBytes = 0
  for (const [part, bytes] of parts(stream)) {
    toldBytes += bytes
    yield frame(bodyOf(part, usageSoFar(stream, toldBytes), {}), false)
    if (isOn(stream.faults, 'unknown-events')) yield frame({ xSandbox: 'unknown', ...tail }, false)
  }
  const end = { finishReason: finishReason(script), ...grounding(script) }
  yield frame(bodyOf({ text: '' }, total, end), true)
}
