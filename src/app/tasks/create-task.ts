import type { TaskModel } from '../../domain/catalog/task-rules.ts'
import type { TaskRequest } from '../../domain/task/state.ts'
import { sharerOf } from '../../domain/token/sharer.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { idempotencyOf } from '../../kernel/keyed-hash.ts'
import { parseAmount } from '../../kernel/money.ts'
import { noChannelError } from '../channels/attempt.ts'
import type { ChannelLease, ChannelQuery } from '../channels/directory.ts'
import type { RequestQuote } from '../finance/prices/tenant-prices.ts'
import type { Channel } from '../ports/provider.ts'
import { createReservations, type Reservation } from '../spending/reservation.ts'
import { type TaskLimit, taskLimitsOf } from '../spending/throttle/concurrent-tasks.ts'
import type { TaskDeps } from './deps.ts'
import { catchUp } from '../access/own-writes.ts'
import { chooseIdentity, keyConflict, markerOf, withPlatformId } from './task-keys.ts'
import { type Intent, newCommandId, logFailure, recordRequested } from './task-log.ts'
import { type BegunTask, isHeldUp, refuseHeldUp, submit, type SubmittedTask } from './submit.ts'
import type { CreatedTask, CreateTask, PricedTask, TaskOrder } from './types.ts'

/** The gateway looks for an end upstream this long after it must have come. */
const EXPIRY_GRACE_MS = 3_600_000

/** The steps in which one kind of creation differs from the others. */
interface CreationSteps<Order extends TaskOrder> {
  /** Looks up the rest, for a request that is no retry and within the rate. @throws DomainError */
  readonly complete?: (order: Order, model: TaskModel) => Promise<Order>
  /** The channel that the event names, held until `finish`. @throws DomainError without one */
  readonly choose: (order: Order, channelQuery: ChannelQuery) => ChannelLease
  /** Stores data that must be durable before the request is. */
  readonly keep?: (order: Order, request: TaskRequest) => Promise<void>
  /** Deletes the data that `keep` stored: the request was not recorded. */
  readonly discard?: (request: TaskRequest) => Promise<void>
  /** Called once the intent is durable (P1). */
  readonly finish: (order: Order, begun: BegunTask) => Promise<CreatedTask>
}

/** Creates tasks that are sent upstream as soon as they are recorded. */
export function createCreateTask(deps: TaskDeps): CreateTask {
  const create = createTaskWith<SubmittedTask>(deps, {
    complete: (input, model) => withAssets(deps, input, model),
    choose: ({ principal }, channelQuery) => {
      const sharer = sharerOf(principal)
      const lease = deps.channels.lease(sharer, channelQuery)
      if (lease === undefined) throw noChannelError(deps, sharer, channelQuery, {})
      return lease
    },
    finish: (input, begun) => submit(deps, input, begun),
  })
  return (input) => create({ ...input, nativeIds: new Map() })
}

/** Creates tasks of one kind, and counts the outcomes. */
export function createTaskWith<Order extends TaskOrder>(
  deps: TaskDeps,
  steps: CreationSteps<Order>,
): (order: Order) => Promise<CreatedTask> {
  return async (order) => {
    const model = modelFor(deps, order)
    const startedMs = deps.monotonic.nowMs()
    // P9: no task begins while the log is unavailable.
    await deps.log.ready()
    // P4: a key gives the same id on every replica, so the log decides which request was first.
    const chosen = await chooseIdentity(deps, order)
    if (chosen.kind === 'replay') return chosen.task
    const { platformId } = chosen
    const count = (outcome: string) => deps.metrics.created.inc({ model: model.name, outcome })
    try {
      const created = await createTask(deps, steps, { order, model, platformId, startedMs })
      count(created.replayed ? 'replayed' : 'submitted')
      return created
    } catch (error) {
      const failure = withPlatformId(error, platformId)
      count(isDomainError(failure) ? failure.code : 'defect')
      throw failure
    }
  }
}

interface NewTask<Order extends TaskOrder> {
  readonly order: Order
  readonly model: TaskModel
  readonly platformId: string
  readonly startedMs: number
}

/** Creates a task: money moves in the order of these lines; the intent is durable first (P1). */
async function createTask<Order extends TaskOrder>(
  deps: TaskDeps,
  steps: CreationSteps<Order>,
  { order: asked, model, platformId, startedMs }: NewTask<Order>,
): Promise<CreatedTask> {
  const held = createReservations()
  let order = asked
  let begun: BegunTask | undefined
  let intent: Intent | { readonly kind: 'none' } = { kind: 'none' }
  try {
    held.add(await deps.throttle.request(asked.principal))
    await deps.freshness.refuseBehind()
    if (steps.complete !== undefined) order = await steps.complete(asked, model)
    // P4: the settlement will use the prices of this moment.
    const prices = await deps.prices.of(order.principal.tenantId)
    deps.tenantAccess.checkCreation(order.principal)
    const quote = deps.catalog.taskFamily(order.family).quote(model.name, order.facts, prices)
    const channelQuery = channelQueryOf(order, model)
    const lease = steps.choose(order, channelQuery)
    const request = requestOf(
      deps,
      { order, model, platformId },
      quote,
      channelQuery,
      lease.channel,
    )
    begun = { request, lease, channelQuery, startedMs, reservedMs: startedMs }
    await steps.keep?.(order, request)
    begun = { ...begun, reservedMs: deps.monotonic.nowMs() }
    const taskLimits = taskLimitsOf(await deps.throttle.holdersOf(order.principal))
    const amountPico = parseAmount(quote.hold)
    deps.crashPoint('create.before-admission')
    held.add(await deps.budgets.reserve(request, quote.currency, amountPico))
    held.add(await reserveFunds(deps, request, taskLimits))
    deps.crashPoint('create.before-requested')
    intent = await recordRequested(deps, request, newCommandId(deps.clock.nowMs()))
    // If the log did not answer, the intent may be there: the hold stays until it answers.
    if (intent.kind !== 'exists') held.commit({ amountPico, tokens: 0, position: intent.position })
    if (intent.kind === 'unknown') throw intent.error
    deps.crashPoint('create.after-requested')
  } finally {
    // Does nothing after a commit.
    held.release('not_started')
    if (begun !== undefined && intent.kind !== 'recorded') await abandon(deps, steps, begun, intent)
  }
  if (intent.kind !== 'recorded') return keyConflict(deps, order, platformId)
  if (isHeldUp(deps, begun)) return refuseHeldUp(deps, begun, steps.discard)
  return steps.finish(order, begun)
}

/** Releases the channel, and deletes the data of a request that certainly was not recorded. */
async function abandon<Order extends TaskOrder>(
  deps: TaskDeps,
  { discard }: CreationSteps<Order>,
  { request, lease }: BegunTask,
  intent: { readonly kind: string },
): Promise<void> {
  lease.release('neutral')
  if (discard !== undefined && intent.kind !== 'unknown')
    await logFailure(deps, request.platformId, discard(request))
}

/** Checks that the caller may use each asset, and chooses the account that has them. */
async function withAssets(
  deps: TaskDeps,
  input: SubmittedTask,
  { region }: TaskModel,
): Promise<SubmittedTask> {
  const { assets: used, principal, requestId } = input
  if (used === undefined || region === undefined) return input
  const asked = { principal, requestId, region, ...used }
  const { channelId, nativeIds } = await deps.useAssets(asked)
  return { ...input, channelId, nativeIds }
}

/** The model an order names. @throws DomainError `unknown_model`, `model_not_allowed` */
function modelFor(
  { catalog }: Pick<TaskDeps, 'catalog'>,
  input: Pick<TaskOrder, 'family' | 'model' | 'principal'>,
): TaskModel {
  const model = catalog.taskFamily(input.family).resolve(input.model)
  if (model === undefined)
    throw new DomainError('unknown_model', 'the model does not exist', { model: input.model })
  const { models } = input.principal
  if (models !== undefined && !models.has(model.name))
    throw new DomainError('model_not_allowed', 'this token may not use the model', {
      model: model.name,
    })
  return model
}

function channelQueryOf(order: TaskOrder, { name, region }: TaskModel): ChannelQuery {
  const { family, channelId } = order
  return {
    family,
    model: name,
    ...(region === undefined ? {} : { region }),
    ...(channelId === undefined ? {} : { channelId }),
  }
}

/** The request as its event records it, before it is sent. */
function requestOf(
  deps: TaskDeps,
  { order, model, platformId }: Omit<NewTask<TaskOrder>, 'startedMs'>,
  quote: TaskRequest['quote'],
  channelQuery: ChannelQuery,
  channel: Channel,
): TaskRequest {
  const rules = deps.catalog.taskFamily(order.family)
  const { principal, idempotencyKey, callerMarker } = order
  const nowMs = deps.clock.nowMs()
  // The gateway does not look upstream for a task that it executes itself.
  const graceMs = rules.localExecution === undefined ? EXPIRY_GRACE_MS : 0
  const expiryMs = (order.executionExpiresAfterS ?? rules.defaultExpiryS) * 1_000 + graceMs
  const secret = deps.markerSecret
  return {
    platformId,
    family: order.family,
    surface: order.surface,
    tenantId: principal.tenantId,
    userId: principal.userId,
    tokenId: principal.tokenId,
    requestId: order.requestId,
    model: model.name,
    ...(model.region === undefined ? {} : { region: model.region }),
    channelId: channel.id,
    channelIds: deps.channels.serving(channelQuery).map(({ id }) => id),
    upstreamModel: channel.models[model.name] ?? model.name,
    facts: order.facts,
    ...(rules.localExecution === undefined ? {} : { madeHere: true }),
    marker: callerMarker ?? markerOf(secret, principal.tenantId, platformId),
    markerIsOurs: callerMarker === undefined,
    quote,
    ...(idempotencyKey === undefined
      ? {}
      : { idempotency: idempotencyOf(secret, idempotencyKey, order.bodyHash) }),
    ...order.repeat,
    ...(order.hasCallback === true ? { callback: true } : {}),
    ...(order.assets && { assetIds: [...new Set(order.assets.assets.map((one) => one.assetId))] }),
    requestedAt: toTimestamp(nowMs),
    expiresAt: toTimestamp(nowMs + expiryMs),
    ...deps.labels.of(principal.tenantId, order.labels),
  }
}

/** Reserves funds and a place among the tasks, under one lock. @throws as `Admissions.admit` */
async function reserveFunds(
  deps: TaskDeps,
  request: TaskRequest,
  taskLimits: readonly TaskLimit[],
): Promise<Reservation> {
  const { platformId, tenantId, userId, tokenId, idempotency, quote } = request
  const { currency, hold } = quote
  const asked = { platformId, tenantId, userId, tokenId, currency, hold, taskLimits }
  try {
    await deps.admissions.admit(asked)
  } catch (error) {
    if (!isDomainError(error, 'rate_limited') || deps.recent.of(tenantId) === undefined) throw error
    // A task keeps its place until its end is projected, so wait for ends appended a moment ago.
    await catchUp(deps, 'tasks', tenantId)
    await deps.admissions.admit(asked)
  }
  return {
    commit: ({ position }) => {
      if (position !== undefined)
        void logFailure(deps, platformId, deps.admissions.recorded(platformId, position))
    },
    release: () => {
      // Two requests may share a keyed id: its reservation is left to the sweep.
      if (idempotency === undefined)
        void logFailure(deps, platformId, deps.admissions.release(platformId))
    },
  }
}

/**
 * The hold and the possible SKUs of a creation. It reserves, writes and sends nothing.
 * @throws DomainError `unknown_model`, `model_not_allowed`, `price_not_configured`, those of
 *   `CheckAssets`
 */
export async function quoteTask(
  { catalog, prices, checkAssets }: Pick<TaskDeps, 'catalog' | 'prices' | 'checkAssets'>,
  order: PricedTask,
): Promise<RequestQuote> {
  const { name, region } = modelFor({ catalog }, order)
  const { principal, assets } = order
  if (assets !== undefined && region !== undefined)
    await checkAssets({ principal, region, ...assets })
  const book = await prices.of(principal.tenantId)
  return catalog.taskFamily(order.family).quote(name, order.facts, book)
}
