import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import type { Principal } from '../../../app/access/principal.ts'
import type { RequestQuote } from '../../../app/finance/prices/tenant-prices.ts'
import type {
  CreatedTask,
  CreateTaskInput,
  TaskAssets,
  TaskKey,
  TaskView,
} from '../../../app/tasks/types.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { principalOf } from '../tokens/authenticate.ts'
import { repeatFactsOf } from '../bodies/body-fingerprint.ts'
import {
  bodyHashOf,
  hasIdempotencyKey,
  idempotencyKeyOf,
  IdempotencyKeySchema,
  REPLAYED,
} from './idempotency.ts'
import { labelsOf } from './labels.ts'
import { creationRoute, type SentBody } from './creation-route.ts'
import { typoRefusal } from '../bodies/typo-check.ts'
import type { FormKind, Services } from '../services.ts'
import type { QuotedPath, Mount, Surface } from './surface.ts'
import type { AssetReference } from '../../../domain/catalog/checks/media.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { costHeaders } from '../answers/answer-headers.ts'

/** Common parts of answers about tasks on every surface. */

/** Headers of the answer to a creation. */
function setCreationHeaders(
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

/** The settings and actual specs that a surface shows; others are internal. */
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
  projectName?: string,
): TaskAssets | undefined {
  if (references.length === 0) return undefined
  const assets = references.map(({ assetId, kind }) => ({
    assetId,
    assetType: ASSET_TYPES[kind],
    param,
  }))
  return { assets, projectName }
}

/** Routes that create tasks, declared: the route, its price and its name follow. */

/** The parts of every creation in addition to its order. */
type Commission = Pick<
  CreateTaskInput,
  'principal' | 'surface' | 'requestId' | 'idempotencyKey' | 'bodyHash' | 'labels' | 'repeat'
>

/** Facts known before a body is read. */
interface AskedTask extends Pick<SentBody, 'form'> {
  readonly principal: Principal
}

/** Creates and prices tasks from orders of one kind. */
interface TaskCreator<Order> {
  readonly create: (order: Order & Commission) => Promise<CreatedTask>
  readonly quote: (order: Order & Pick<Commission, 'principal'>) => Promise<RequestQuote>
}

/** An order that is sent upstream as soon as it is recorded. */
export type SubmittedOrder = Omit<CreateTaskInput, keyof Commission>

/** The creator of tasks that are sent upstream as soon as they are recorded. */
export const submitted = ({ tasks }: Pick<Services, 'tasks'>): TaskCreator<SubmittedOrder> => ({
  create: tasks.createTask,
  quote: tasks.quoteTask,
})

/**
 * @typeParam Accepted a checked body
 * @typeParam Order what the creator makes a task of
 */
export interface TaskCreation<Accepted, Order = SubmittedOrder> {
  /** Below the prefix of the mount. */
  readonly path: string
  /** Name of the surface in the log and the ledger. */
  readonly name: string
  readonly body: TSchema
  /** The form it takes as well; absent: only JSON is taken. */
  readonly forms?: FormKind
  /** JSON creates nothing here, so it has no quote. */
  readonly formsOnly?: true
  /** The description of the route; it has the body only if that differs from the checked schema. */
  readonly documented: FastifySchema
  /** Checks a body. @throws DomainError naming the member */
  readonly accept: (
    body: JsonObject,
    asked: AskedTask,
    services: Services,
  ) => Accepted | Promise<Accepted>
  readonly order: (accepted: Accepted) => Order
  readonly creator: (services: Services) => TaskCreator<Order>
  /** Distinguishes a retry under a key from another request; absent: the bytes of the body do. */
  readonly hash?: (accepted: Accepted) => string
  /** A failure of the creator in the form of this surface. */
  readonly failure?: (error: unknown) => unknown
  readonly answer: (
    created: CreatedTask,
    accepted: Accepted,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => object
}

/** The surface of some creations; `further` adds the routes of their results. */
export function creationsOf<Accepted, Order>(
  mount: Mount,
  creations: readonly TaskCreation<Accepted, Order>[],
  further: (app: FastifyInstance, services: Services) => void,
): Surface {
  return {
    mount,
    endpoints: Object.fromEntries(
      creations.map(({ name, path }) => [name, `${mount.prefix}${path}`]),
    ),
    bodies: creations.map(({ body }) => ({ schema: body })),
    register: async (app, services) => {
      for (const creation of creations) await createRoute(app, creation, services)
      further(app, services)
    },
    quotes: (services) =>
      creations
        .filter(({ formsOnly }) => formsOnly !== true)
        .map((creation) => quotedPath(mount.prefix, creation, services)),
  }
}

function createRoute<Accepted, Order>(
  app: FastifyInstance,
  creation: TaskCreation<Accepted, Order>,
  services: Services,
): Promise<void> {
  const { path, body, documented, forms } = creation
  const { create } = creation.creator(services)
  return creationRoute(app, {
    path,
    schema: { headers: IdempotencyKeySchema, ...documented },
    body,
    names: { foreign: services.http.foreignMembers },
    forms: forms && services.http.forms[forms],
    handler: async (sent, request, reply) => {
      const idempotencyKey = idempotencyKeyOf(request)
      const principal = principalOf(request)
      const labels = labelsOf(request, sent.body)
      const accepted = await creation.accept(sent.body, { principal, form: sent.form }, services)
      // From now on only the creator holds the body.
      request.body = undefined
      const commission = {
        principal,
        surface: creation.name,
        requestId: request.id,
        idempotencyKey,
        bodyHash: hashOf(creation, accepted, request),
        ...labels,
        ...repeatFactsOf(request),
      }
      const created = await create({ ...creation.order(accepted), ...commission }).catch(
        (error: unknown) => {
          throw creation.failure?.(error) ?? error
        },
      )
      // Every answer once the id exists carries `x-platform-id`.
      setCreationHeaders(reply, created)
      return creation.answer(created, accepted, request, reply)
    },
  })
}

function hashOf<Accepted, Order>(
  { hash }: TaskCreation<Accepted, Order>,
  accepted: Accepted,
  request: FastifyRequest,
): string {
  return hash === undefined || !hasIdempotencyKey(request) ? bodyHashOf(request) : hash(accepted)
}

function quotedPath<Accepted, Order>(
  prefix: string,
  { path, body: schema, accept, order, creator }: TaskCreation<Accepted, Order>,
  services: Services,
): QuotedPath {
  const check = typoRefusal(schema, { foreign: services.http.foreignMembers })
  const { quote } = creator(services)
  return {
    path: `${prefix}${path}`,
    quote: async ({ principal, body }) => {
      check(body)
      const accepted = await accept(body, { principal, form: undefined }, services)
      return quote({ ...order(accepted), principal })
    },
  }
}
