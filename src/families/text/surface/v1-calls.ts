import type { FastifyInstance, FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import {
  answerStream,
  answerWhole,
  type CallPart,
  textRoad,
  type TextUpstream,
} from './answer-call.ts'
import type { StreamDialect } from '../../../api/kit/event-stream.ts'
import { type AlsoKnown, foreignToTexts } from '../../../api/kit/foreign-members.ts'
import { CallKeySchema } from '../../../api/kit/idempotency.ts'
import { objectBody } from '../../../api/kit/json-body.ts'
import { refuseMisspelt } from '../../../api/kit/misspelt.ts'
import { misspeltRefusal } from '../../../api/kit/quoted-path.ts'
import { type Services, streamOptions, type Surface } from '../../../api/kit/surface.ts'
import type { TextFrame } from '../calls/types.ts'
import type { JsonObject } from '../../../kernel/json.ts'

/** A body that was read: the call it asks for, and how its stream is written. */
export interface ReadV1Call extends Omit<CallPart, 'surface'> {
  /** Undefined: it is answered whole. */
  readonly dialect: StreamDialect<TextFrame> | undefined
}

/** Text calls below `/v1`, declared: the route, its price and its name follow. */
export interface V1TextCalls {
  /** What the log and the ledger call it. */
  readonly name: string
  /** Below `/v1`. */
  readonly path: string
  readonly body: TSchema
  readonly alsoKnown?: AlsoKnown
  /** The description of the route, without the body. */
  readonly documented: FastifySchema
  /** @throws DomainError `invalid_request`, naming the field */
  readonly read: (body: JsonObject) => ReadV1Call
}

export function v1TextSurface(
  { name, path, body, alsoKnown = {}, documented, read }: V1TextCalls,
  upstream: TextUpstream,
): Surface {
  const called = { surface: name }
  const names = { foreign: foreignToTexts }
  const register = (app: FastifyInstance, services: Services): void => {
    const road = textRoad(upstream, services)
    app.post(path, {
      // The reader judges bodies and names the field; the schema only finds misspelt names.
      validatorCompiler: refuseMisspelt(alsoKnown, names),
      schema: { ...documented, headers: CallKeySchema, body },
      handler: async (request, reply) => {
        const { dialect, ...asked } = read(objectBody(request.body))
        const part: CallPart = { ...called, ...asked }
        return dialect === undefined
          ? answerWhole(road, request, reply, part)
          : answerStream(road, request, reply, part, {
              dialect,
              ...streamOptions(services, request),
            })
      },
    })
  }
  return {
    mount: '/v1',
    endpoints: { [name]: `/v1${path}` },
    bodies: [{ schema: body, also: alsoKnown }],
    register,
    quotes: (services) => {
      const { runner, family: calls, name: family } = textRoad(upstream, services)
      const check = misspeltRefusal(body, alsoKnown, names)
      return [
        {
          path: `/v1${path}`,
          quote: async ({ principal, requestId, body: sent }) => {
            check(sent)
            const { dialect: _, ...asked } = read(sent)
            return runner.quote(calls, { ...called, family, principal, requestId, ...asked })
          },
        },
      ]
    },
  }
}
