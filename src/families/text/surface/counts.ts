import type { FastifyRequest } from 'fastify'
import { foreignToTexts } from '../../../api/kit/bodies/foreign-members.ts'
import { takeBodyText } from '../../../api/kit/bodies/body-text.ts'
import { RequestError } from '../../../api/kit/request-error.ts'
import { type AskedCall, callerGone } from '../../../api/kit/routes/calls.ts'
import { creationRoute } from '../../../api/kit/routes/creation-route.ts'
import type { Services } from '../../../api/kit/services.ts'
import type { Mount, Surface } from '../../../api/kit/routes/surface.ts'
import { principalOf } from '../../../api/kit/tokens/authenticate.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { type CountDeps, createTokenCount } from '../calls/counts.ts'
import type { ReadTextCall, TextCalls } from './calls.ts'

/** The adapters of a wire that counts tokens. */
export type CountUpstream = Omit<CountDeps, 'channels'>

/** The count of a wire's prompts, declared. */
export interface TextCounts extends Pick<
  TextCalls,
  'path' | 'route' | 'name' | 'body' | 'spellings' | 'documented' | 'headers'
> {
  /** Reads a body as the call would. @throws DomainError `invalid_request`, naming the field */
  readonly read: (
    body: JsonObject,
    asked: AskedCall,
    services: Services,
  ) => Omit<ReadTextCall, 'dialect'> | Promise<Omit<ReadTextCall, 'dialect'>>
}

/** The surface that counts the tokens of a wire's prompts. */
export function countSurface(mount: Mount, counts: TextCounts, upstream: CountUpstream): Surface {
  const { path, route = path, name: surface, body, spellings, documented, headers, read } = counts
  const keepsText = mount.body?.keepsText === true
  return {
    mount,
    endpoints: {},
    bodies: [{ schema: body, ...(spellings === undefined ? {} : { spellings }) }],
    register: (app, services) => {
      const count = createTokenCount({ ...upstream, channels: services.models.channels })
      return creationRoute(app, {
        path: route,
        schema: documented,
        body,
        names: { foreign: foreignToTexts, ...(spellings === undefined ? {} : { spellings }) },
        forms: undefined,
        config: { hasOwnLimits: true },
        handler: async (sent, request, reply) => {
          const by = { principal: principalOf(request), surface, requestId: request.id }
          const leave = services.throttle.count(by.principal)
          try {
            const written = keepsText ? takeBodyText(request) : undefined
            const asked = { by, part: partOf(request), form: undefined, written }
            const own = await read(sent.body, asked, services)
            // From now on only the use case holds the body.
            request.body = undefined
            const input = {
              ...by,
              family: upstream.wire.name,
              ...own,
              ...(written === undefined ? {} : { written }),
              ...(headers === undefined ? {} : { headers: headers(request) }),
            }
            const { signal } = callerGone(reply)
            const counted = await count(input, { requestId: request.id, signal })
            if (counted === undefined) throw notCounted()
            void reply.header('cache-control', 'no-store')
            return counted
          } finally {
            leave()
          }
        },
      })
    },
  }
}

function partOf({ params }: FastifyRequest): string {
  return String(Object.values(Object(params) as object)[0] ?? '')
}

function notCounted(): RequestError {
  return new RequestError(
    'not_offered',
    'The service of this model does not count tokens. POST /v1/quote says what a request would hold',
  )
}
