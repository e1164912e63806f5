import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Static } from 'typebox'
import type { TenantRow, UserRow } from '../../../projections/access/query.ts'
import type { AdminScope } from '../../app/accounts/admin-scope.ts'
import type { ManagedTenants } from '../../app/accounts/managed-tenants.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { actorOf, success } from '../kit/routes/account-surface.ts'
import { readPage } from '../kit/routes/queries.ts'
import { changeFailures, accountReadFailures } from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { sendList } from '../kit/answers/lists.ts'
import { describeAdmin, adminScopeOf } from './envelope.ts'
import { type ListQuery, ListQuerySchema, listOf } from './lists.ts'
import {
  NewTenantSchema,
  NewUserSchema,
  PageQuerySchema,
  TenantAnswerSchema,
  TenantParamsSchema,
  TenantsAnswerSchema,
  UserAnswerSchema,
  UsersAnswerSchema,
} from './schemas.ts'

/** A tenant as its routes show it. */
export const toTenant = ({ tenantId, name, openedAtMs, status }: TenantRow) => ({
  object: 'tenant' as const,
  id: tenantId,
  name,
  opened_at: toTimestamp(openedAtMs),
  status,
})

/** A user as its routes show it. */
export const toUser = ({ tenantId, userId, name, addedAtMs, suspendedReason }: UserRow) => ({
  object: 'user' as const,
  id: userId,
  tenant_id: tenantId,
  name,
  added_at: toTimestamp(addedAtMs),
  suspended: suspendedReason !== null,
  suspended_reason: suspendedReason,
})

type PageQuery = Static<typeof PageQuerySchema>

/** The tenants that an admin token manages, by id. @throws DomainError `invalid_cursor` */
export function readTenants(tenants: ManagedTenants, scope: AdminScope, query: ListQuery) {
  const list = listOf(
    ['tenants', scope],
    query,
    (page) => tenants.list(scope, page),
    ({ tenantId }) => tenantId,
    toTenant,
  )
  return { name: 'tenants', columns: ['id', 'name', 'opened_at', 'status'] as const, ...list }
}

/** A page of the users of a tenant. */
export async function readUsers(
  tenants: ManagedTenants,
  scope: AdminScope,
  tenantId: string,
  query: PageQuery,
) {
  const { items, next_cursor } = await readPage(
    ['users', scope, tenantId],
    query,
    (page) => tenants.users(scope, tenantId, page),
    ({ userId }) => userId,
  )
  return { items: items.map(toUser), next_cursor }
}

/** Tenants: an operator opens and sees all of them, a tenant's admin token sees its own. */
export function tenantRoutes(
  instance: FastifyInstance,
  { tenants }: Pick<Services['accounts'], 'tenants'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const list = describeAdmin({
    operationId: 'listTenants',
    summary: 'List the tenants that the admin token can manage',
    ok: TenantsAnswerSchema,
    failures: [...accountReadFailures, 'invalid_cursor'],
    csv: true,
  })
  app.get('/tenants', {
    config: { roles: ['finance', 'support'] },
    schema: { ...list, querystring: ListQuerySchema },
    handler: (request, reply) => {
      const { query } = request
      return sendList(request, reply, query, readTenants(tenants, adminScopeOf(request), query))
    },
  })
  const open = describeAdmin({
    operationId: 'openTenant',
    summary: 'Open a tenant (operators only)',
    ok: TenantAnswerSchema,
    failures: [...changeFailures, 'body_empty', 'tenant_exists'],
  })
  app.post('/tenants', {
    schema: { ...open, body: NewTenantSchema },
    handler: async (request) => {
      const { name, tenant_id: tenantId } = request.body
      const input = { name, ...(tenantId === undefined ? {} : { tenantId }) }
      const tenant = await tenants.open(adminScopeOf(request), actorOf(request), input)
      return success(toTenant(tenant))
    },
  })
  const one = describeAdmin({
    operationId: 'getTenant',
    summary: 'Get a tenant',
    ok: TenantAnswerSchema,
    failures: [...accountReadFailures, 'tenant_not_found'],
  })
  app.get('/tenants/:tenant_id', {
    config: { roles: ['finance', 'support'] },
    schema: { ...one, params: TenantParamsSchema },
    handler: async (request) => {
      const tenant = await tenants.find(adminScopeOf(request), request.params.tenant_id)
      return success(toTenant(tenant))
    },
  })
}

/** Users of a tenant. */
export function userRoutes(
  instance: FastifyInstance,
  { tenants }: Pick<Services['accounts'], 'tenants'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const list = describeAdmin({
    operationId: 'listUsers',
    summary: 'List the users of a tenant',
    ok: UsersAnswerSchema,
    failures: [...accountReadFailures, 'invalid_cursor', 'tenant_not_found'],
  })
  app.get('/tenants/:tenant_id/users', {
    config: { roles: ['support'] },
    schema: { ...list, params: TenantParamsSchema, querystring: PageQuerySchema },
    handler: async (request) => {
      const { tenant_id: tenantId } = request.params
      return success(await readUsers(tenants, adminScopeOf(request), tenantId, request.query))
    },
  })
  const add = describeAdmin({
    operationId: 'addUser',
    summary: 'Add a user to a tenant',
    ok: UserAnswerSchema,
    failures: [
      ...changeFailures,
      'body_empty',
      'tenant_not_found',
      'user_exists',
      'too_many_users',
    ],
  })
  app.post('/tenants/:tenant_id/users', {
    schema: { ...add, params: TenantParamsSchema, body: NewUserSchema },
    handler: async (request) => {
      const { name, user_id: userId } = request.body
      const { tenant_id: tenantId } = request.params
      const input = { tenantId, name, ...(userId === undefined ? {} : { userId }) }
      const user = await tenants.addUser(adminScopeOf(request), actorOf(request), input)
      return success(toUser(user))
    },
  })
}
