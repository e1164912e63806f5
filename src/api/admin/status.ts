import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { managedName } from '../../app/accounts/settings.ts'
import { managedStatus } from '../../app/accounts/managed-status.ts'
import { definitionOf } from '../../domain/account/settings.ts'
import { MAX_SUSPENDED_USERS } from '../../domain/account/status.ts'
import {
  actorOf,
  DisplayName,
  KnownId,
  Reason,
  success,
  successOf,
} from '../kit/routes/account-surface.ts'
import { changeFailures } from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { adminScopeOf, describeAdmin } from './envelope.ts'
import { user } from './schemas.ts'
import { expectedRevision, settingRoutes } from './settings.ts'
import { toUser } from './tenants.ts'

/** The life of a tenant and of its users: their names, and whether they may begin something. */

const status = Type.Enum(['open', 'suspended', 'closed'])
const SuspendedUsers = Type.Array(
  Type.Object({ user_id: KnownId, reason: Reason }, { additionalProperties: false }),
  {
    maxItems: MAX_SUSPENDED_USERS,
    description: 'Users whose tokens begin nothing, with the reason that their callers read.',
  },
)

const StatusBody = Type.Object(
  {
    status,
    reason: Type.Optional(Reason),
    suspended_users: Type.Optional(SuspendedUsers),
    ...expectedRevision,
  },
  {
    additionalProperties: false,
    examples: [{ status: 'suspended', reason: 'invoice INV-77 is overdue' }],
  },
)

/** Routes of the status of a tenant. */
export const statusRoutes = settingRoutes({
  setting: managedStatus,
  path: 'status',
  // Generators of clients name the choice in `status` of `Tenant` by its place: `TenantStatus`.
  operation: 'StatusOfTenant',
  roles: { get: ['finance', 'support'] },
  get: { summary: 'Get whether a tenant is open, suspended or closed, and its suspended users' },
  put: {
    summary: 'Suspend, resume or close a tenant (operators only), or replace its suspended users',
    body: StatusBody,
    failures: ['user_not_found', 'status_refused', 'tenant_busy'],
  },
  members: {
    status,
    reason: Type.String({ description: 'Callers that are refused read it.' }),
    since: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the status was last changed; null: it was always open.',
    }),
    suspended_users: SuspendedUsers,
  },
  read: (body) => ({
    tenant: { status: body.status, reason: body.reason ?? '' },
    suspendedUsers: body.suspended_users?.map((one) => ({
      userId: one.user_id,
      reason: one.reason,
    })),
  }),
  toBody: (shown) => ({
    status: shown.status,
    reason: shown.reason,
    since: shown.since ?? null,
    suspended_users: shown.suspendedUsers.map((one) => ({
      user_id: one.userId,
      reason: one.reason,
    })),
  }),
})

const NameBody = Type.Object(
  { name: DisplayName, ...expectedRevision },
  { additionalProperties: false, examples: [{ name: 'Acme Films' }] },
)

/** Routes of the name of a tenant. */
export const nameRoutes = settingRoutes({
  setting: managedName,
  path: 'name',
  operation: 'TenantName',
  roles: { get: ['finance', 'support'] },
  get: { summary: 'Get the name of a tenant' },
  put: { summary: 'Rename a tenant', body: NameBody, failures: [] },
  members: { name: Type.String() },
  read: ({ name }) => ({ name }),
  toBody: ({ name }) => ({ name }),
})

const UserParams = Type.Object({ tenant_id: Type.String(), user_id: Type.String() })
const ChangedUser = successOf(
  Type.Object({ ...user, changed: Type.Boolean() }, { named: 'ChangedUser' }),
)
const userFailures = [
  ...changeFailures,
  'body_empty',
  'tenant_not_found',
  'user_not_found',
] as const

const { code } = definitionOf(managedStatus.name)
const { code: nameCode } = definitionOf(managedName.name)

/** Routes that rename, suspend and resume one user. */
export function userLifeRoutes(
  instance: FastifyInstance,
  { tenants, settings }: Pick<Services['accounts'], 'tenants' | 'settings'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const rename = describeAdmin({
    operationId: 'renameUser',
    summary: 'Rename a user of a tenant',
    ok: ChangedUser,
    failures: [...userFailures, `${nameCode}_invalid`],
  })
  app.put('/tenants/:tenant_id/users/:user_id/name', {
    schema: {
      ...rename,
      params: UserParams,
      body: Type.Object(
        { name: DisplayName },
        { additionalProperties: false, examples: [{ name: 'Ann Lee' }] },
      ),
    },
    handler: async (request) => {
      const { tenant_id: tenantId, user_id: userId } = request.params
      const input = { tenantId, userId, name: request.body.name }
      const renamed = await tenants.renameUser(adminScopeOf(request), actorOf(request), input)
      return success({ ...toUser(renamed), changed: renamed.changed })
    },
  })
  const suspend = describeAdmin({
    operationId: 'setUserStatus',
    summary: 'Suspend or resume a user of a tenant',
    ok: ChangedUser,
    failures: [...userFailures, `${code}_invalid`, `${code}_changed`, 'status_refused'],
  })
  app.put('/tenants/:tenant_id/users/:user_id/status', {
    schema: {
      ...suspend,
      params: UserParams,
      body: Type.Object(
        { status: Type.Enum(['open', 'suspended']), reason: Type.Optional(Reason) },
        {
          additionalProperties: false,
          examples: [{ status: 'suspended', reason: 'left the company' }],
        },
      ),
    },
    handler: async (request) => {
      const { tenant_id: tenantId, user_id: userId } = request.params
      const { body } = request
      const reason = body.status === 'suspended' ? (body.reason ?? '') : undefined
      const scope = adminScopeOf(request)
      const { changed } = await settings.set(managedStatus, scope, actorOf(request), {
        tenantId,
        basis: undefined,
        wanted: () => ({ user: { userId, reason } }),
      })
      return success({ ...toUser(await tenants.user(scope, tenantId, userId)), changed })
    },
  })
}
