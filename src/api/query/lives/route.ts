import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Static } from 'typebox'
import type { Principal } from '../../../app/access/principal.ts'
import { isLifeId, type Life } from '../../../app/support/life.ts'
import type { Step } from '../../../app/support/steps.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { principalOf } from '../../kit/tokens/authenticate.ts'
import { RequestError } from '../../kit/request-error.ts'
import { describeQuery } from '../documentation.ts'
import { lifeFailures } from '../envelope.ts'
import type { QueryReads } from '../reads.ts'
import { sees, visibleTo } from '../scope.ts'
import { readZone } from '../time-range.ts'
import {
  LifeAnswerSchema,
  LifeParamsSchema,
  LifeQuerySchema,
  TicketQuerySchema,
} from './schemas.ts'
import { TicketAnswerSchema, ticketOf, ticketText } from './ticket.ts'
import { shownLife } from './view.ts'

/** A reader asks this of a life; a command may leave everything out. */
type LifeQuery = {
  readonly [Name in keyof Static<typeof LifeQuerySchema>]?:
    | Static<typeof LifeQuerySchema>[Name]
    | undefined
}

/** @throws RequestError for a step that the life does not have */
function stepOf(life: Life, query: LifeQuery, param: 'at' | 'against'): Step | undefined {
  const n = query[param]
  if (n === undefined) return undefined
  const step = life.steps[n - 1]
  if (step !== undefined) return step
  const message = `${param} must be a step from 1 to ${life.steps.length}`
  throw new RequestError('parameter_invalid', message, param)
}

/** Writes times in a zone; in UTC without a name. @throws RequestError for an unknown one */
function timesIn(name: string | undefined): (unixMs: number) => string {
  if (name === undefined) return toTimestamp
  const zone = readZone(name)
  return (unixMs) => zone.timestampAt(unixMs)
}

/** The life of an id, within what the principal may see. @throws DomainError `life_not_found` */
export async function readLife(
  reads: QueryReads,
  principal: Principal,
  id: string,
  query: LifeQuery,
) {
  const timeOf = timesIn(query.tz)
  const visible = visibleTo(principal)
  const life = isLifeId(id) ? await reads.life(id, visible) : undefined
  // The reads filter already; this check keeps other tenants' lives out even if one of them fails
  // to.
  if (life === undefined || !sees(visible, life))
    throw new DomainError('life_not_found', 'no record with this id is visible to this token', {})
  const asked = { at: stepOf(life, query, 'at'), against: stepOf(life, query, 'against') }
  return shownLife(life, { isOperator: visible.tenantId === undefined, timeOf }, asked)
}

/** `GET /lives/{id}` and its ticket: all that is known of a task, a call, an asset or a file. */
export function queryLifeRoutes(instance: FastifyInstance, reads: QueryReads): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/lives/:id',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'getLife',
          summary:
            'Get the life of a task, a call, an asset or a file: its steps, its money, and what is related',
          ok: LifeAnswerSchema,
          failures: lifeFailures,
        }),
        params: LifeParamsSchema,
        querystring: LifeQuerySchema,
      },
    },
    async (request, reply) => {
      const { params, query } = request
      const data = await readLife(reads, principalOf(request), params.id, query)
      void reply.header('cache-control', 'no-store')
      return { success: true as const, message: '', data }
    },
  )
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/lives/:id/ticket',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'getTicket',
          summary: 'Get a life as a ticket for support, with a reply for the customer',
          ok: TicketAnswerSchema,
          failures: lifeFailures,
          files: { 'text/markdown': 'Markdown, where the request asks for it.' },
        }),
        params: LifeParamsSchema,
        querystring: TicketQuerySchema,
      },
    },
    async (request, reply) => {
      const { params, query } = request
      const { format, tz } = query
      const life = await readLife(reads, principalOf(request), params.id, { tz })
      const ticket = ticketOf(life)
      void reply.header('cache-control', 'no-store')
      if (format === 'md')
        return reply.type('text/markdown; charset=utf-8').send(ticketText(ticket))
      return { success: true as const, message: '', data: ticket }
    },
  )
}
