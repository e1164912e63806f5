import type { FastifyInstance } from 'fastify'
import { type TProperties, type TSchema, Type } from 'typebox'
import type { ManagedSetting, ManagedSettings } from '../../app/accounts/settings.ts'
import type { SettingName, WantedOf } from '../../domain/account/settings.ts'
import { actorOf, success, successOf } from '../kit/account-surface.ts'
import type { FailureCode } from '../kit/failure-table.ts'
import { changeFailures, readFailures } from '../kit/route-failures.ts'
import { describe, adminScopeFor } from './envelope.ts'
import { TenantParamsSchema } from './schemas.ts'

/** Member of a body that may name the revision it is based on. */
export const expectedRevision = {
  expected_revision: Type.Optional(
    Type.Integer({ minimum: 0, description: 'That was looked at, 0 for none.' }),
  ),
}
export const settingRevision = Type.Integer({ description: '0: none were ever set.' })

interface Described {
  readonly operationId: string
  readonly summary: string
  readonly querystring?: TSchema
}

/** The routes of a setting: `Input` is a body that sets it, `Query` the query of reading it. */
export interface SettingSurface<
  Name extends SettingName,
  Shown,
  Input extends { readonly expected_revision?: number | undefined },
  Query = unknown,
> {
  readonly setting: ManagedSetting<Name, Shown>
  /** Below the tenant. */
  readonly path: string
  readonly get: Described
  readonly put: Described & {
    readonly bodyLimit?: number
    readonly body: TSchema
    /** Beside those of every setting. */
    readonly failures: readonly FailureCode[]
  }
  /** Members of an answer. */
  readonly members: TProperties
  /** Further members of an answer to a change. */
  readonly changed?: TSchema
  readonly read: (body: Input) => WantedOf<Name>
  readonly toBody: (shown: Shown, tenantId: string, query?: Query) => object
}

interface OfTenant {
  readonly Params: { readonly tenant_id: string }
}

/** Registers the routes that read and set a setting. */
export function settingRoutes<
  Name extends SettingName,
  Shown,
  Input extends { readonly expected_revision?: number | undefined },
  Query,
>(
  app: FastifyInstance,
  settings: ManagedSettings,
  surface: SettingSurface<Name, Shown, Input, Query>,
): void {
  const { setting, get, put, members, changed: changedSchema = Type.Boolean(), toBody } = surface
  const path = `/tenants/:tenant_id/${surface.path}`
  const schemaOf = ({ querystring }: Described) => ({
    params: TenantParamsSchema,
    ...(querystring === undefined ? {} : { querystring }),
  })
  app.get<OfTenant>(path, {
    schema: {
      ...describe({
        ...get,
        ok: successOf(Type.Object(members)),
        failures: [...readFailures, 'tenant_not_found'],
      }),
      ...schemaOf(get),
    },
    handler: async (request) => {
      const { tenant_id: tenantId } = request.params
      const shown = await settings.show(setting, adminScopeFor(request), tenantId)
      return success(toBody(shown, tenantId, request.query as Query))
    },
  })
  app.put<OfTenant>(path, {
    ...(put.bodyLimit === undefined ? {} : { bodyLimit: put.bodyLimit }),
    schema: {
      ...describe({
        ...put,
        ok: successOf(Type.Object({ ...members, changed: changedSchema })),
        failures: [...changeFailures, 'body_empty', 'tenant_not_found', ...put.failures],
      }),
      ...schemaOf(put),
      body: put.body,
    },
    handler: async (request) => {
      const { tenant_id: tenantId } = request.params
      // Its schema has checked it.
      const body = request.body as Input
      const { changed, shown, warnings } = await settings.set(
        setting,
        adminScopeFor(request),
        actorOf(request),
        {
          tenantId,
          wanted: () => surface.read(body),
          basis: body.expected_revision,
        },
      )
      return success({ ...toBody(shown, tenantId), changed }, warnings)
    },
  })
}
