import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FamilyKit } from '../family.ts'
import {
  NO_MARKERS,
  parseMarkers,
  type PromptMarkers,
  type Faults,
  isOn,
  wordOf,
} from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamAnswer, StreamFrame } from '../http/stream.ts'
import { runOnWire, type Wire } from '../http/wire.ts'
import { jsonBody, textIn, type Fields } from '../kit/body.ts'
import { credentialHash, type AcceptedCall, type CallFacts, type CallUsage } from './store.ts'

/** The caller of a request, and its own name for it. */
export interface Asker {
  readonly credential: string
  readonly markers: PromptMarkers
  readonly safetyIdentifier: string | null
}

/** A call before it is acted on. */
interface CallRequest {
  readonly op: string
  readonly model: string | null
  readonly body: Fields | null
  /** The text that may have switches: the last user message, or its replacement. */
  readonly userText: string
  readonly perform: (
    asker: Asker,
    faults: Faults,
  ) => Answer | StreamAnswer | Promise<Answer | StreamAnswer>
}

/** Runs a call: first faults, then the request; a refusal becomes an answer. */
export async function runCall(
  kit: FamilyKit,
  wire: Wire,
  { op, model, body, userText, perform }: CallRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  let markers: PromptMarkers = NO_MARKERS
  let fault: unknown = null
  try {
    markers = parseMarkers(userText)
  } catch (error) {
    fault = error
  }
  const safetyIdentifier = body === null ? null : textIn(body, 'safety_identifier')
  const subject = { model, id: null, clientMarker: markers.clientMarker, safetyIdentifier }
  const call = {
    op,
    subject,
    promptFaults: markers.faults,
    perform: async (faults: Faults) => {
      const credential = wire.credential(request)
      if (fault !== null) throw fault
      return perform({ credential, markers, safetyIdentifier }, faults)
    },
  }
  return runOnWire(kit, wire, call, request, reply)
}

/** What a family states about a call it reads; the rest follows from a JSON body. */
type ReadCall = Pick<CallRequest, 'userText' | 'perform'> & Partial<CallRequest>

/** Adds a route of calls. */
export function addCall(
  app: FastifyInstance,
  kit: FamilyKit,
  wire: Wire,
  path: string,
  read: (body: Fields | null, request: FastifyRequest) => ReadCall | Promise<ReadCall>,
): void {
  app.post(path, async (request, reply) => {
    const body = jsonBody(request.body)
    const op = body?.['stream'] === true ? 'stream' : 'create'
    const call = { op, model: body && textIn(body, 'model'), body }
    return runCall(kit, wire, { ...call, ...(await read(body, request)) }, request, reply)
  })
}

/** Headers that make an answer a stream of events. */
const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
} as const

/** Usage of nothing that is counted in tokens. */
export const NO_TOKENS: CallUsage = {
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  tool_prompt_tokens: 0,
}

/** What a family records of a call it accepts; the rest follows from who asked. */
export type NewCall = Pick<CallFacts, 'id' | 'model' | 'stream' | 'wireUsage'> & Partial<CallFacts>

/** Records an accepted call. */
export function acceptCall(
  kit: Pick<FamilyKit, 'calls' | 'clock'>,
  family: string,
  asker: Asker,
  call: NewCall,
): AcceptedCall {
  const { failCode = null } = call
  return kit.calls.accept({
    family,
    requestedModel: call.model,
    clientMarker: asker.markers.clientMarker,
    safetyIdentifier: asker.safetyIdentifier,
    credential: credentialHash(asker.credential),
    acceptedAtMs: kit.clock.nowMs(),
    usage: NO_TOKENS,
    toolCalls: {},
    ...call,
    failCode,
    outcome: failCode === null ? (call.outcome ?? 'completed') : 'failed',
  })
}

/** One frame of a stream, by default without a name and in its midst. */
export function frameOf(data: object | string, more: Partial<StreamFrame> = {}): StreamFrame {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return { event: null, data: text, usage: false, last: false, ...more }
}

/** An error in the midst of a stream; under `bare-error` outside of any frame. */
export function textError(error: StreamFrame, faults: Faults): StreamFrame | string {
  return isOn(faults, 'bare-error') ? error.data : error
}

/** The answer to an accepted call, at once or bit by bit. */
type Result =
  | Required<Pick<Answer, 'headers' | 'body' | 'usage'>>
  | (Pick<StreamAnswer, 'headers' | 'frames' | 'failure'> & Partial<StreamAnswer>)

/** Makes a result the answer to its call. */
export function answerOf(
  result: Result,
  call: AcceptedCall,
  faults: Faults,
): Answer | StreamAnswer {
  if ('body' in result) return { status: 200, call, ...result }
  const eol = isOn(faults, 'crlf') ? '\r\n' : '\n'
  return { eol, ...result, status: 200, call, headers: { ...result.headers, ...EVENT_STREAM } }
}

/** Accepts a call and answers it, or answers with the error that `fail` names. */
export async function answerCall(
  kit: Pick<FamilyKit, 'calls' | 'clock'>,
  wire: Wire,
  { asker, faults }: { readonly asker: Asker; readonly faults: Faults },
  /** `breaksBy`: the code of the error its stream breaks off with unless `fail` names one; null: it does not. */
  { breaksBy, ...facts }: NewCall & { readonly breaksBy: string | null },
  resultOf: (call: AcceptedCall) => Result | Promise<Result>,
): Promise<Answer | StreamAnswer> {
  const fail = wordOf(faults, 'fail')
  const failCode = fail ?? breaksBy ?? facts.failCode ?? null
  const call = acceptCall(kit, wire.family, asker, { ...facts, failCode })
  if (fail !== null && breaksBy === null) return { ...wire.refusal(fail, faults), call }
  return answerOf(await resultOf(call), call, faults)
}
