import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallRunner } from '../../../app/calls/runner.ts'
import type { CallerGone } from '../../../app/calls/types.ts'
import { createTextFamily, type TextCallFamily } from '../calls/family.ts'
import type { TextCallInput, TextDeps, TextFrame } from '../calls/types.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { principalOf } from '../../../api/kit/authenticate.ts'
import { costOf } from '../../../domain/pricing/cost.ts'
import { callerGone, callerPresence } from '../../../api/kit/caller.ts'
import { costHeaders, costInStream } from '../../../api/kit/answer-headers.ts'
import { keyedBy } from '../../../api/kit/idempotency.ts'
import type { Services } from '../../../api/kit/surface.ts'
import {
  sendEventStream,
  type StreamDialect,
  type StreamLimits,
} from '../../../api/kit/event-stream.ts'

/** What a route makes of its request: a call without the parts every route adds alike. */
export type CallPart = Pick<TextCallInput, 'surface' | 'model' | 'body' | 'inputSize'>

/** What faces the upstream of a wire. */
export type TextUpstream = Omit<TextDeps, 'channels'>

/** What runs calls of a wire. */
export interface TextRoad {
  readonly runner: CallRunner
  readonly family: TextCallFamily
  /** Of the channels that serve it. */
  readonly name: string
}

/** The road of a wire over what every surface is offered. */
export function textRoad(
  upstream: TextUpstream,
  { calls: runner, channels }: Pick<Services, 'calls' | 'channels'>,
): TextRoad {
  return { runner, family: createTextFamily({ ...upstream, channels }), name: upstream.wire.name }
}

function inputOf(
  family: string,
  request: FastifyRequest,
  part: CallPart,
  gone: CallerGone,
): TextCallInput {
  // From here on only the use case holds the body.
  request.body = undefined
  const by = { principal: principalOf(request), requestId: request.id, callerGone: gone }
  return { ...part, family, ...by, ...keyedBy(request) }
}

/** Makes a call and answers it whole. */
export async function answerWhole(
  { runner, family, name }: TextRoad,
  request: FastifyRequest,
  reply: FastifyReply,
  part: CallPart,
): Promise<JsonObject> {
  const call = await runner.complete(family, inputOf(name, request, part, callerPresence(reply)))
  void reply.headers({
    'x-call-id': call.callId,
    ...costHeaders(costOf(call.settlement)),
    'cache-control': 'no-store',
  })
  return call.body
}

/** Makes a call and answers it as a stream of events. */
export async function answerStream(
  { runner, family, name }: TextRoad,
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
  const started = runner
    .stream(family, inputOf(name, request, part, gone.signal))
    .then(({ callId, frames, settlement }) => ({
      headers: { 'x-call-id': callId },
      frames,
      cost: costInStream(request, settlement),
    }))
  await sendEventStream(request, reply, { ...options, gone, started })
  return reply
}
