import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { actorOf, KnownId, Reason } from '../../api/kit/routes/account-surface.ts'
import { principalOf } from '../../api/kit/tokens/authenticate.ts'
import { NameOf } from '../../api/query/schemas.ts'
import type { TokenRole } from '../../domain/token/events.ts'
import { DomainError } from '../../kernel/errors.ts'
import { failureOf, isDefect } from '../failure.ts'
import { fieldReader, writtenIn } from '../form-routes.ts'
import { sessionIn } from '../session/guard.ts'
import { nextPlace, paths } from '../kit/href.ts'
import { type ConsoleServices, sendPage } from '../page.tsx'
import { ViewReasonPage } from './view-reason-page.tsx'
import { viewReasonBefore, seesOtherTenants } from '../session/reading-as.ts'

/**
 * The reason that a reader from outside a tenant gives before the tenant's first page is shown, once per
 * session and tenant. The log keeps it.
 */

/** The roles that may give one, in addition to tokens without a role. */
export const viewReasonRoles: readonly TokenRole[] = ['finance', 'support']

const Query = Type.Object({
  tenant_id: NameOf('The tenant.'),
  next: Type.Optional(Type.String({ maxLength: 4_096 })),
})

const readViewReason = fieldReader(
  Type.Object({ tenant_id: KnownId, reason: Reason, next: Query.properties.next }),
)

/** The form, and what it does: the reason is in the log before the session may see the tenant. */
export function viewReasonRoutes(
  app: FastifyInstance,
  { accounts, sessions }: ConsoleServices,
): void {
  const show = (
    request: FastifyRequest,
    reply: FastifyReply,
    { tenant_id: tenantId = '', next }: Static<typeof Query>,
    fault?: { readonly message: string; readonly reason: string },
  ) => {
    const children = <ViewReasonPage tenantId={tenantId} next={nextPlace(next)} fault={fault} />
    return sendPage(request, reply, { title: `Reason to view ${tenantId}`, children })
  }
  app
    .withTypeProvider<TypeBoxTypeProvider>()
    .get(
      paths.viewReason,
      { config: { roles: viewReasonRoles }, schema: { hide: true, querystring: Query } },
      async (request, reply) => {
        const { tenant_id: tenantId, next } = request.query
        const isNeeded = viewReasonBefore(request, principalOf(request), [tenantId]) !== undefined
        return isNeeded ? show(request, reply, request.query) : reply.redirect(nextPlace(next), 303)
      },
    )
  app.post(
    paths.viewReason,
    { config: { roles: viewReasonRoles }, schema: { hide: true } },
    async (request, reply) => {
      const written = writtenIn(request, ['tenant_id', 'reason', 'next'])
      const { reason: wanted = '', next } = written
      if (!seesOtherTenants(principalOf(request)))
        throw new DomainError('scope_denied', 'this needs a token that sees all tenants', {})
      try {
        const { tenant_id: tenantId, reason } = readViewReason(written)
        await accounts.viewTenant(actorOf(request), { tenantId, reason })
        await sessions.viewed(sessionIn(request) ?? '', tenantId)
      } catch (error) {
        const failure = failureOf(error, request.id)
        if (isDefect(failure)) throw error
        const { status, message } = failure
        return show(request, reply.code(status), written, { message, reason: wanted })
      }
      return reply.redirect(nextPlace(next), 303)
    },
  )
}
