import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallerGone } from '../../app/calls/types.ts'
import type { TextCallInput, TextFrame, TextUseCases } from '../../app/calls/text/types.ts'
import type { JsonObject } from '../../kernel/json.ts'
import { principalOf } from './authenticate.ts'
import { costOf } from '../../domain/pricing/cost.ts'
import { callerGone, callerPresence } from './caller.ts'
import { costHeaders, costInStream } from './cost.ts'
import { keyedBy } from './keyed-call.ts'
import { sendEventStream, type StreamDialect, type StreamLimits } from './event-stream.ts'

/** What a route makes of its request: a call without the parts every route adds alike. */
export type CallPart = Pick<TextCallInput, 'family' | 'surface' | 'model' | 'body' | 'inputSize'>

function inputOf(request: FastifyRequest, part: CallPart, gone: CallerGone): TextCallInput {
  // From here on only the use case holds the body.
  request.body = undefined
  const by = { principal: principalOf(request), requestId: request.id, callerGone: gone }
  return { ...part, ...by, ...keyedBy(request) }
}

/** Makes a call and answers it whole. */
export async function answerWhole(
  texts: TextUseCases,
  request: FastifyRequest,
  reply: FastifyReply,
  part: CallPart,
): Promise<JsonObject> {
  const call = await texts.complete(inputOf(request, part, callerPresence(reply)))
  void reply.headers({
    'x-call-id': call.callId,
    ...costHeaders(costOf(call.settlement)),
    'cache-control': 'no-store',
  })
  return call.body
}

/** Makes a call and answers it as a stream of events. */
export async function answerStream(
  texts: TextUseCases,
  request: FastifyRequest,
  reply: FastifyReply,
  part: CallPart,
  options: {
    readonly dialect: StreamDialect<TextFrame>
    readonly limits: StreamLimits
    readonly headers?: () => Readonly<Record<string, string>>
  },
): Promise<FastifyReply> {
  const gone = callerGone(reply)
  const started = texts
    .stream(inputOf(request, part, gone.signal))
    .then(({ callId, frames, settlement }) => ({
      headers: { 'x-call-id': callId },
      frames,
      cost: costInStream(request, settlement),
    }))
  await sendEventStream(request, reply, { ...options, gone, started })
  return reply
}
