import { runText } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamAnswer } from '../http/stream.ts'
import { type Fields, jsonBody, textIn } from '../kit/body.ts'
import { type Asker, TextService } from '../text/service.ts'
import { bearerWire, EVENT_STREAM, TextErrors, textHeaders, textMessage } from '../text/wire.ts'
import { endedResponse, type ResponseHead, responsesUsage } from './body.ts'
import { errorFrame, responsesFrames } from './events.ts'
import { doneItem, itemsOf } from './items.ts'
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
  const call = text.accept({
    family: FAMILY,
    id: head.id,
    ask: request,
    asker,
    script,
    wireUsage: reported,
    failCode: brokenBy ?? failCode,
  })
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
    return { status: 200, body: answer, headers, call, usage: usage !== null }
  }
  return {
    status: 200,
    headers: { ...headers, ...EVENT_STREAM },
    eol: isOn(faults, 'crlf') ? '\r\n' : '\n',
    frames: responsesFrames({ head, request, script, items, failCode, usage, faults }),
    failure: (written) => {
      const code = brokenBy ?? 'server_error'
      const frame = errorFrame(code, textMessage(code), written)
      return isOn(faults, 'bare-error') ? frame.data : frame
    },
    call,
  }
}

/** The responses upstream. */
export const responses: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const text = new TextService(kit)
    const kept = new KeptResponses()
    kit.onReset(() => kept.reset())
    const wire = bearerWire(FAMILY, kit.options, new TextErrors(text.ids))
    app.post('/v1/responses', (request, reply) => {
      const body = jsonBody(request.body)
      return runText(
        kit,
        wire,
        {
          op: body?.['stream'] === true ? 'stream' : 'create',
          model: body === null ? null : textIn(body, 'model'),
          body,
          userText: lastUserText(body),
          perform: (asker, faults) => create({ kit, text, kept }, body, asker, faults),
        },
        request,
        reply,
      )
    })
  },
}
