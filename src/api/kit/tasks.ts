import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import type {
  CreatedTask,
  CreateTaskInput,
  TaskAssets,
  TaskKey,
  TaskView,
} from '../../app/tasks/types.ts'
import type { JsonObject } from '../../kernel/json.ts'
import { principalOf } from './authenticate.ts'
import { bodyHashOf, idempotencyKeyOf, IdempotencyKeySchema, REPLAYED } from './idempotency.ts'
import { objectBody } from './json-body.ts'
import { typoRefusal, refuseTypos } from './typo-check.ts'
import type { QuotedPath, Mount, SurfaceServices, Surface } from './surface.ts'
import type { AssetReference } from '../../domain/catalog/checks/media.ts'
import { DomainError } from '../../kernel/errors.ts'
import { costHeaders } from './answer-headers.ts'

/** What answers about tasks have in common on every surface. */

/** Headers of the answer to a creation. */
export function setCreationHeaders(
  reply: FastifyReply,
  { platformId, replayed }: Pick<CreatedTask, 'platformId' | 'replayed'>,
): void {
  void reply.header('x-platform-id', platformId)
  if (replayed) void reply.header(REPLAYED, 'true')
}

/** Headers of the answer to a query of one task. */
export function setTaskHeaders(
  reply: FastifyReply,
  { platformId, cost }: Pick<TaskView, 'platformId' | 'cost'>,
): void {
  void reply.headers({ 'x-platform-id': platformId, ...costHeaders(cost) })
}

/** The settings and actual specs that a surface shows; others stay inside. */
export function shownSettings(settings: TaskView['settings'], names: readonly string[]) {
  const shown = names.flatMap((name) => {
    const value = settings[name]
    return value === undefined || value === null ? [] : [[name, value] as const]
  })
  return Object.fromEntries(shown)
}

const taskId = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** Whether a text can be a task's id; other texts are not looked up. */
export function isTaskId(text: string): boolean {
  return taskId.test(text)
}

/**
 * The caller's task that a request names by its platform or native id.
 * @throws DomainError `task_not_found` if the text cannot be an id
 */
export function taskKeyOf(request: FastifyRequest, family: TaskKey['family'], id: string): TaskKey {
  if (!isTaskId(id)) throw new DomainError('task_not_found', 'no such task', {})
  return { principal: principalOf(request), family, id, requestId: request.id }
}

const ASSET_TYPES = { image: 'Image', video: 'Video', audio: 'Audio' } as const

/** The assets of a creation, named as one member of its body; undefined where it uses none. */
export function taskAssetsOf(
  references: readonly AssetReference[],
  param: string,
  { projectName, bodyWith }: Pick<TaskAssets, 'projectName' | 'bodyWith'>,
): TaskAssets | undefined {
  if (references.length === 0) return undefined
  const assets = references.map(({ assetId, kind }) => ({
    assetId,
    assetType: ASSET_TYPES[kind],
    param,
  }))
  return { assets, projectName, bodyWith }
}

/** Routes that create tasks of a family, declared: the route, its price and its name follow. */

type Ordered = Pick<CreateTaskInput, 'model' | 'facts' | 'upstreamBody'> &
  Partial<Pick<CreateTaskInput, 'assets' | 'channelId' | 'callerMarker' | 'executionExpiresAfterS'>>

/** @typeParam Accepted a checked body */
export interface TaskCreation<Accepted> {
  /** Below the prefix of the mount. */
  readonly path: string
  /** Its name in the log and the ledger. */
  readonly name: string
  readonly family: string
  readonly body: TSchema
  /** The description of the route, without the body. */
  readonly documented: FastifySchema
  /** Checks a body. @throws DomainError naming the member */
  readonly accept: (
    body: JsonObject,
    principal: Principal,
    services: SurfaceServices,
  ) => Accepted | Promise<Accepted>
  readonly order: (accepted: Accepted) => Ordered
  readonly answer: (created: CreatedTask, accepted: Accepted, request: FastifyRequest) => object
}

/** The surface of some creations; `further` adds the routes of their results. */
export function creationsOf<Accepted>(
  mount: Mount,
  creations: readonly TaskCreation<Accepted>[],
  further: (app: FastifyInstance, services: SurfaceServices) => void,
): Surface {
  return {
    mount,
    endpoints: Object.fromEntries(
      creations.map(({ name, path }) => [name, `${mount.prefix}${path}`]),
    ),
    bodies: creations.map(({ body }) => ({ schema: body })),
    register: (app, services) => {
      for (const creation of creations) createRoute(app, creation, services)
      further(app, services)
    },
    quotes: (services) => creations.map((creation) => quotedPath(mount.prefix, creation, services)),
  }
}

function createRoute<Accepted>(
  app: FastifyInstance,
  creation: TaskCreation<Accepted>,
  services: SurfaceServices,
): void {
  const { path, body, documented } = creation
  app.post(path, {
    schema: { ...documented, headers: IdempotencyKeySchema, body },
    // The family checks the body; the schema only finds misspelled names.
    validatorCompiler: refuseTypos({ foreign: services.foreignMembers }),
    handler: (request, reply) => create(creation, services, request, reply),
  })
}

/** Every answer once the id exists carries `x-platform-id`. */
async function create<Accepted>(
  { family, name, accept, order, answer }: TaskCreation<Accepted>,
  services: SurfaceServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<object> {
  const idempotencyKey = idempotencyKeyOf(request)
  const principal = principalOf(request)
  const accepted = await accept(objectBody(request.body), principal, services)
  const created = await services.tasks.createTask({
    callerMarker: undefined,
    executionExpiresAfterS: undefined,
    ...order(accepted),
    family,
    principal,
    surface: name,
    requestId: request.id,
    idempotencyKey,
    bodyHash: bodyHashOf(request),
  })
  setCreationHeaders(reply, created)
  return answer(created, accepted, request)
}

function quotedPath<Accepted>(
  prefix: string,
  { path, family, body: schema, accept, order }: TaskCreation<Accepted>,
  services: SurfaceServices,
): QuotedPath {
  const check = typoRefusal(schema, { foreign: services.foreignMembers })
  return {
    path: `${prefix}${path}`,
    quote: async ({ principal, body }) => {
      check(body)
      const { model, facts, assets } = order(await accept(body, principal, services))
      return services.tasks.quoteTask({ principal, family, model, facts, assets })
    },
  }
}
