import { acceptCall, answerOf, textError } from '../calls/answer.ts'
import { addCall, type Asker } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamAnswer } from '../http/stream.ts'
import type { Fields } from '../kit/body.ts'
import { callOf, TextService } from '../text/service.ts'
import { textHeaders, textMessage, textWire } from '../text/wire.ts'
import { doneItem, endedResponse, itemsOf, type ResponseHead, responsesUsage } from './body.ts'
import { errorFrame, responsesFrames } from './events.ts'
import { KeptResponses } from './kept.ts'
import { lastUserText, parseResponses, type ResponsesRequest } from './parse.ts'

const FAMILY = 'responses'

/** What answers are made with. */
interface Parts {
  readonly kit: FamilyKit
  readonly text: TextService
  readonly kept: KeptResponses
}

/** Whether reasoning is to come with its content, encrypted. */
function hasContent({ body }: ResponsesRequest): boolean {
  const { include } = body
  return Array.isArray(include) && include.includes('reasoning.encrypted_content')
}

/** Answers a responses request. A failure is a response too: 200 and `failed`. */
function create(
  { kit, text, kept }: Parts,
  body: Fields | null,
  asker: Asker,
  faults: Faults,
): Answer | StreamAnswer {
  const { credential } = asker
  const asked = body === null ? null : kept.withItems(body, credential)
  const request = parseResponses(asked, kit.options, (read) => kept.continued(read, credential))
  const { ids } = text
  const script = text.plan(request, asker, faults)
  const reported = responsesUsage(script.usage, request.model.caches, faults)
  const head: ResponseHead = { id: ids.next('resp_'), createdAt: text.nowSeconds() }
  const breaks = request.stream && faults.has('error-after')
  const fail = wordOf(faults, 'fail')
  const brokenBy = breaks ? (fail ?? 'server_error') : null
  const failCode = breaks ? null : fail
  const accepted = callOf(request, script, head.id, reported)
  const call = acceptCall(kit, FAMILY, asker, { ...accepted, failCode: brokenBy ?? failCode })
  const silent = isOn(faults, 'no-usage') || (failCode !== null && !isOn(faults, 'usage-in-failed'))
  const usage = silent ? null : reported
  const headers = textHeaders(ids.next('req_'), faults)
  const items = itemsOf(script, ids, hasContent(request))
  if (failCode === null && brokenBy === null)
    kept.keep(request.body, credential, {
      id: head.id,
      tokens: script.usage.input_tokens + script.usage.output_tokens,
      items: items.map((item) => ({ ...doneItem(item, 'completed') })),
    })
  if (!request.stream) {
    const cut = script.end === 'length' ? 'incomplete' : 'completed'
    const output = items.map((item) => doneItem(item, cut))
    const answer = endedResponse(head, request, { script, failCode, output, usage })
    return answerOf({ headers, body: answer, usage: usage !== null }, call, faults)
  }
  const frames = responsesFrames({ head, request, script, items, failCode, usage, faults })
  const code = brokenBy ?? 'server_error'
  const failure = (written: number) =>
    textError(errorFrame(code, textMessage(code), written), faults)
  return answerOf({ headers, frames, failure }, call, faults)
}

/** The responses upstream. */
export const responses: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const text = new TextService(kit)
    const kept = new KeptResponses()
    kit.onReset(() => kept.reset())
    addCall(app, kit, textWire(FAMILY, kit, text.ids), '/v1/responses', (body) => ({
      userText: lastUserText(body),
      perform: (asker, faults) => create({ kit, text, kept }, body, asker, faults),
    }))
  },
}
