import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { principalOf } from '../../../api/kit/tokens/authenticate.ts'
import { callerGone } from '../../../api/kit/routes/calls.ts'
import type { FailureCode } from '../../../api/kit/failures/failure-table.ts'
import { tokenFailures } from '../../../api/kit/failures/route-failures.ts'
import { open } from '../../text/surface/bodies.ts'
import type { Surface } from '../../../api/kit/routes/surface.ts'
import { describeV1 } from '../../../api/v1/documentation.ts'
import { v1 } from '../../../api/v1/mount.ts'
import { deleteResponse, getResponse, type KeptResponseDeps } from '../calls/kept.ts'
import { ResponseSchema } from './routes.ts'

/** Responses that an account keeps, read and deleted by their ids. */

const ParamsSchema = Type.Object({ id: Type.String({ description: '`id` of a response.' }) })

const KeptSchema = Type.Object(
  {
    ...ResponseSchema.properties,
    model: Type.Optional(
      Type.String({
        description: 'Absent if the account serves no model that the response can be of.',
      }),
    ),
  },
  { ...open, named: 'KeptResponse' },
)

const DeletedSchema = Type.Object(
  { id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) },
  { named: 'DeletedResponse' },
)

const failures: readonly FailureCode[] = [
  ...tokenFailures,
  'response_not_found',
  'kept_unavailable',
  'call_refused',
  'refused_account',
  'upstream_unavailable',
  'upstream_timeout',
  'upstream_malformed',
]

function askedBy(request: FastifyRequest, reply: FastifyReply, id: string) {
  const { signal } = callerGone(reply)
  void reply.header('cache-control', 'no-store')
  return { principal: principalOf(request), id, requestId: request.id, signal }
}

/** `GET` and `DELETE` of a kept response, below `/v1`. */
export function keptResponsesSurface(kept: Omit<KeptResponseDeps, 'channels'>): Surface {
  return {
    mount: v1,
    endpoints: {},
    bodies: [],
    register: (app, services) => keptRoutes(app, { ...kept, channels: services.models.channels }),
  }
}

function keptRoutes(instance: FastifyInstance, deps: KeptResponseDeps): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/responses/:id', {
    schema: {
      ...describeV1({
        tag: 'Text',
        operationId: 'getResponse',
        summary: 'Get a response that is kept',
        ok: KeptSchema,
        failures,
      }),
      params: ParamsSchema,
    },
    handler: async (request, reply) =>
      reply.send(await getResponse(deps, askedBy(request, reply, request.params.id))),
  })
  app.delete('/responses/:id', {
    schema: {
      ...describeV1({
        tag: 'Text',
        operationId: 'deleteResponse',
        summary: 'Delete a response that is kept',
        ok: DeletedSchema,
        failures,
      }),
      params: ParamsSchema,
    },
    handler: async (request, reply) => {
      const { id } = request.params
      await deleteResponse(deps, askedBy(request, reply, id))
      return { id, object: 'response' as const, deleted: true as const }
    },
  })
}
