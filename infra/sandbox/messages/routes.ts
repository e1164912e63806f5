import type { FastifyRequest } from 'fastify'
import { addCall, answerCall, type Asker, frameOf, textError } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { Refusal, type Wire } from '../http/wire.ts'
import type { Fields } from '../kit/body.ts'
import { promptTokens } from '../text/order.ts'
import { callOf, TextService } from '../text/script.ts'
import { messageBody, messageEvents, messagesUsage, paidUsage } from './answer.ts'
import { lastUserText, parseMessages } from './parse.ts'
import { errorBody, messagesHeaders, messagesWire } from './wire.ts'

const FAMILY = 'messages'

/** Answers a messages request. */
function create(
  { kit, wire, text }: { readonly kit: FamilyKit; readonly wire: Wire; readonly text: TextService },
  body: Fields | null,
  { headers }: Pick<FastifyRequest, 'headers'>,
  asker: Asker,
  faults: Faults,
) {
  const request = parseMessages(body, headers['anthropic-version'], kit.options)
  const { ids } = text
  const script = text.plan(request, asker, faults)
  const reported = messagesUsage(request, script, faults)
  const id = ids.next('msg_')
  const accepted = {
    ...callOf(request, script, id, reported),
    usage: paidUsage(script.usage, faults),
    breaksBy: request.stream && faults.has('error-after') ? 'api_error' : null,
  }
  return answerCall(kit, wire, { asker, faults }, accepted, ({ facts }) => {
    const usage = isOn(faults, 'no-usage') ? undefined : reported
    const requestId = ids.next('req_')
    const own = messagesHeaders(requestId, kit.clock.nowMs(), faults)
    const answer = { id, request, script, usage, ids, faults }
    if (!request.stream)
      return { headers: own, body: messageBody(answer), usage: usage !== undefined }
    const error = errorBody(facts.failCode ?? 'api_error', requestId)
    return {
      headers: own,
      frames: messageEvents(answer),
      failure: () => textError(frameOf(error, { event: 'error', last: true }), faults),
    }
  })
}

/** Members of a message that its count does not take. */
const NOT_COUNTED = ['max_tokens', 'stream', 'temperature', 'metadata', 'stop_sequences']

/** Counts the tokens of a message; nothing is accepted. @throws Refusal */
function countTokens(
  { kit, text }: { readonly kit: FamilyKit; readonly text: TextService },
  body: Fields | null,
  { headers }: Pick<FastifyRequest, 'headers'>,
  faults: Faults,
): Answer {
  const extra = NOT_COUNTED.find((name) => body?.[name] !== undefined)
  if (extra !== undefined)
    throw new Refusal('invalid_request_error', `${extra}: Extra inputs are not permitted`)
  const asked = body && { ...body, max_tokens: 1 }
  const request = parseMessages(asked, headers['anthropic-version'], kit.options)
  return {
    status: 200,
    headers: messagesHeaders(text.ids.next('req_'), kit.clock.nowMs(), faults),
    body: { input_tokens: promptTokens(request) },
  }
}

/** The upstream of messages. */
export const messages: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const text = new TextService(kit)
    const wire = messagesWire(FAMILY, kit, text.ids)
    addCall(app, kit, wire, '/messages/v1/messages', (body, request) => ({
      userText: lastUserText(body),
      perform: (asker, faults) => create({ kit, wire, text }, body, request, asker, faults),
    }))
    addCall(app, kit, wire, '/messages/v1/messages/count_tokens', (body, request) => ({
      op: 'count',
      userText: lastUserText(body),
      perform: (_asker, faults) => countTokens({ kit, text }, body, request, faults),
    }))
  },
}
