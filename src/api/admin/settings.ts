import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import type { ManagedSetting } from '../../app/accounts/settings.ts'
import { mayGive } from '../../domain/account/setting-changes.ts'
import { definitionOf, type SettingName, type WantedOf } from '../../domain/account/settings.ts'
import type { TokenRole } from '../../domain/token/events.ts'
import { actorOf, ChangeReason, success, successOf } from '../kit/routes/account-surface.ts'
import type { FailureCode } from '../kit/failures/failure-table.ts'
import { fileMembers, sendList, type Table } from '../kit/answers/lists.ts'
import { changeFailures, accountReadFailures } from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { describeAdmin, adminScopeOf } from './envelope.ts'
import { ProposedAnswerSchema, toProposal } from './proposal-answers.ts'
import { TenantParamsSchema } from './schemas.ts'

/** Member of a body that may name the revision it is based on. */
export const expectedRevision = {
  expected_revision: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'The `revision` that the change is based on; 0: never set. The change is refused if it has another one by now.',
    }),
  ),
}

/** Member of a body or a query that may say why a setting is changed. */
export const changeReason = { reason: Type.Optional(ChangeReason) }

/** Members of a body that changes a setting, in addition to its terms. */
export const changeMembers = { ...expectedRevision, ...changeReason }

/** The name of a setting in the ids of its operations. */
type OperationName = `${Uppercase<string>}${string}`

type SettingFile = Table<Readonly<Record<string, unknown>>> & { readonly name: string }

/** The routes of a setting, below its tenant. */
interface SettingSurface<
  Name extends SettingName,
  Shown extends { readonly revision: number },
  Body extends TSchema,
  Query extends TSchema,
> {
  readonly setting: ManagedSetting<Name, Shown>
  readonly path: string
  readonly operation: OperationName
  readonly get: { readonly summary: string; readonly querystring?: Query }
  /** The rows of a setting that is a list: `get` answers with their file too, and its query has `fileMembers`. */
  readonly file?: (shown: Shown, tenantId: string, query: Static<Query>) => SettingFile
  /** The roles of tokens that may use a method; absent: only tokens without a role. */
  readonly roles?: { readonly [Method in 'get' | 'put']?: readonly TokenRole[] }
  readonly put: {
    readonly summary: string
    readonly querystring?: TSchema
    readonly bodyLimit?: number
    readonly body: Body
    /** Failures in addition to those of every setting. */
    readonly failures: readonly FailureCode[]
  }
  /** Removes the setting, if there is such a route. */
  readonly delete?: {
    readonly summary: string
    readonly querystring: TSchema
    readonly wanted: WantedOf<Name>
  }
  /** Members of an answer, in addition to those that every setting has; they may describe one of those. */
  readonly members: TProperties
  readonly changed?: TSchema
  readonly read: (body: Static<Body>) => WantedOf<Name>
  /** The members of an answer. */
  readonly toBody: (shown: Shown, query?: Static<Query>) => object
}

const FileQuery = Type.Object(fileMembers)

interface OfTenant {
  readonly Params: { readonly tenant_id: string }
}
type ChangeMembers = { readonly expected_revision?: number; readonly reason?: string } | undefined

/** Answers with a setting, or with its file where it has one and the caller wants it. */
async function sendSetting(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: object,
  file: SettingFile | undefined,
) {
  if (file === undefined) return success(answer)
  const page = () => Promise.resolve(answer)
  // The schema has checked the query.
  return sendList(request, reply, request.query as Static<typeof FileQuery>, { ...file, page })
}

/** Registers the routes that read and set a setting. */
export function settingRoutes<
  Name extends SettingName,
  Shown extends { readonly revision: number },
  Body extends TSchema,
  Query extends TSchema,
>(surface: SettingSurface<Name, Shown, Body, Query>) {
  const { setting, path: name, roles = {}, file, put, delete: remove, read, toBody } = surface
  const schemas = schemasOf(surface, file !== undefined)
  const path = `/tenants/:tenant_id/${name}`
  const show = (shown: Shown, tenantId: string, query?: Static<Query>) => ({
    object: definitionOf(setting.name).code,
    tenant_id: tenantId,
    revision: shown.revision,
    ...toBody(shown, query),
  })
  return (app: FastifyInstance, { settings }: Pick<Services['accounts'], 'settings'>) => {
    const set = async (
      request: FastifyRequest<OfTenant>,
      reply: FastifyReply,
      wanted: () => WantedOf<Name>,
      change: ChangeMembers,
    ) => {
      const { tenant_id: tenantId } = request.params
      const input = { tenantId, wanted, basis: change?.expected_revision, reason: change?.reason }
      const scope = adminScopeOf(request)
      const done = await settings.set(setting, scope, actorOf(request), input)
      const { changed, warnings } = done
      if (done.proposal === undefined)
        return success({ ...show(done.shown, tenantId), changed }, warnings)
      void reply.code(202)
      return success({ ...toProposal(done.proposal, scope), changed }, warnings)
    }
    app.get<OfTenant>(path, {
      config: { roles: roles.get ?? [] },
      schema: schemas.get,
      handler: async (request, reply) => {
        const { tenant_id: tenantId } = request.params
        const shown = await settings.show(setting, adminScopeOf(request), tenantId)
        const query = request.query as Static<Query>
        const written = file?.(shown, tenantId, query)
        return sendSetting(request, reply, show(shown, tenantId, query), written)
      },
    })
    app.put<OfTenant>(path, {
      config: { roles: roles.put ?? [] },
      ...(put.bodyLimit === undefined ? {} : { bodyLimit: put.bodyLimit }),
      schema: schemas.put,
      handler: (request, reply) => {
        // The schema has checked the body.
        const body = request.body as Static<Body>
        return set(request, reply, () => read(body), body)
      },
    })
    if (remove === undefined) return
    app.delete<OfTenant>(path, {
      schema: schemas.delete,
      handler: (request, reply) =>
        set(request, reply, () => remove.wanted, request.query as ChangeMembers),
    })
  }
}

function schemasOf(
  surface: Pick<
    SettingSurface<SettingName, never, TSchema, TSchema>,
    'operation' | 'get' | 'put' | 'delete' | 'members' | 'changed'
  > & { readonly setting: { readonly name: SettingName } },
  isFile: boolean,
): Readonly<Record<'get' | 'put' | 'delete', FastifySchema>> {
  const { operation, get, put, delete: remove, changed = Type.Boolean() } = surface
  const { code } = definitionOf(surface.setting.name)
  const members = {
    object: Type.Literal(code),
    tenant_id: Type.String(),
    revision: Type.Integer({ description: 'Incremented by each change; 0: never set.' }),
    ...surface.members,
  }
  const describeOne = (
    method: 'get' | 'set' | 'clear',
    { summary, querystring }: { readonly summary: string; readonly querystring?: TSchema },
    further: readonly FailureCode[],
  ): FastifySchema => {
    const isRead = method === 'get'
    const ok = successOf(
      isRead
        ? Type.Object(members, { named: operation })
        : Type.Object({ ...members, changed }, { named: `Changed${operation}` }),
    )
    const common = isRead ? accountReadFailures : changeFailures
    const failures: readonly FailureCode[] = [...common, 'tenant_not_found', ...further]
    return {
      ...describeAdmin({
        operationId: `${method}${operation}`,
        summary,
        ok,
        ...(!isRead && mayGive(surface.setting.name) && { accepted: ProposedAnswerSchema }),
        failures,
        ...(isRead && isFile && { csv: true }),
      }),
      params: TenantParamsSchema,
      ...(querystring === undefined ? {} : { querystring }),
    }
  }
  const ofBody: readonly FailureCode[] = ['body_empty', ...put.failures, `${code}_invalid`]
  return {
    get: describeOne('get', get, []),
    put: { ...describeOne('set', put, [...ofBody, `${code}_changed`]), body: put.body },
    delete: remove === undefined ? {} : describeOne('clear', remove, [`${code}_changed`]),
  }
}
