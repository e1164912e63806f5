import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import {
  answerStream,
  answerWhole,
  callerGone,
  type AskedCall,
  callSurface,
} from '../../../api/kit/routes/calls.ts'
import { type StreamDialect } from '../../../api/kit/answers/event-stream.ts'
import { foreignToTexts } from '../../../api/kit/bodies/foreign-members.ts'
import type { Spellings } from '../../../api/kit/bodies/typo-check.ts'
import type { Services } from '../../../api/kit/services.ts'
import { type Mount, streamOptions, type Surface } from '../../../api/kit/routes/surface.ts'
import type { CallRunner } from '../../../app/calls/running-calls.ts'
import type { PricingInput } from '../../../app/calls/family.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { createTextFamily, type TextCallFamily } from '../calls/family.ts'
import type { TextCallInput, TextDeps, TextFrame } from '../calls/types.ts'

/** The upstream adapter of a wire. */
export type TextUpstream = Omit<TextDeps, 'channels'>

/** A body that was read: the call it asks for, and how its stream is written. */
export interface ReadTextCall extends Pick<TextCallInput, 'model' | 'body' | 'inputSize'> {
  /** Undefined: it is answered whole. */
  readonly dialect: StreamDialect<TextFrame> | undefined
}

/** Text calls of a wire, declared. */
export interface TextCalls {
  readonly path: string
  readonly route?: string
  readonly shownAs?: string
  readonly name: string
  readonly body: TSchema
  readonly spellings?: Spellings
  readonly documented: FastifySchema
  /** @throws DomainError `invalid_request`, naming the field */
  readonly read: (
    body: JsonObject,
    asked: AskedCall,
    services: Services,
  ) => ReadTextCall | Promise<ReadTextCall>
  /** The caller's headers that the wire passes on as they came. @throws DomainError */
  readonly headers?: (request: FastifyRequest) => Readonly<Record<string, string>>
  /** Refuses members that the body must not have. @throws DomainError */
  readonly check?: (request: FastifyRequest) => void
}

interface AcceptedText {
  readonly input: PricingInput<TextCallInput>
  readonly dialect: ReadTextCall['dialect']
}

/** The surface of calls of a wire. */
export function textSurface(
  mount: Mount,
  { spellings, read, check, headers, ...declared }: TextCalls,
  upstream: TextUpstream,
): Surface {
  return callSurface(mount, {
    ...declared,
    names: { foreign: foreignToTexts, ...(spellings === undefined ? {} : { spellings }) },
    accept: async (body, asked, services): Promise<AcceptedText> => {
      const { dialect, ...own } = await read(body, asked, services)
      const { by, written } = asked
      const input = { ...by, family: upstream.wire.name, ...own }
      return { input: written === undefined ? input : { ...input, written }, dialect }
    },
    open: (services) => {
      const family = createTextFamily({ ...upstream, channels: services.models.channels })
      return {
        family,
        answer: ({ input: asked, dialect }: AcceptedText, request, reply) => {
          check?.(request)
          const input = headers === undefined ? asked : { ...asked, headers: headers(request) }
          if (dialect === undefined) return answerText(services.calls, family, input, reply)
          const gone = callerGone(reply)
          return answerStream(request, reply, {
            gone,
            call: services.calls.stream(family, { ...input, callerGone: gone.signal }),
            dialect,
            ...streamOptions(mount, services, request),
          })
        },
      }
    },
  })
}

async function answerText(
  runner: CallRunner,
  family: TextCallFamily,
  input: PricingInput<TextCallInput>,
  reply: FastifyReply,
): Promise<JsonObject | string> {
  const body = await answerWhole(runner, family, input, reply)
  if (typeof body === 'string') void reply.type('application/json; charset=utf-8')
  return body
}
