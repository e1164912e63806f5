import type { TaskModel } from '../../domain/catalog/task-rules.ts'
import type { TaskRequest } from '../../domain/task/state.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError, type DomainCode } from '../../kernel/errors.ts'
import { parseAmount } from '../../kernel/money.ts'
import { nobodyToAsk } from '../channels/attempt.ts'
import type { ChannelLease, ChannelWish } from '../channels/directory.ts'
import type { RequestQuote } from '../finance/prices/request-quote.ts'
import type { AdmissionRequest } from '../spending/admission.ts'
import { type TaskLimit, taskLimitsOf } from '../spending/throttle/concurrent-tasks.ts'
import type { TaskDeps } from './deps.ts'
import { catchUp } from '../access/visibility.ts'
import { bodyHashOf, chooseIdentity, keyConflict, keyHashOf, markerOf } from './task-keys.ts'
import { newCommandId, quietly, type Recorded, recordRequested } from './task-log.ts'
import { type BegunTask, submit } from './submit.ts'
import type { CreatedTask, CreateTask, CreateTaskInput, PricedTask, TaskOrder } from './types.ts'

/** An end upstream is looked for this long after it must have come. */
const EXPIRY_GRACE_MS = 3_600_000

/** What creations of a kind do beside what is the same for all of them. */
export interface CreationSteps<Order extends TaskOrder> {
  /** Fills in what is only found out once it is known to be no repetition, and within the rate. @throws DomainError */
  readonly complete?: (order: Order, model: TaskModel) => Promise<Order>
  /** The channel that is written down, held until `finish`. @throws DomainError where there is none */
  readonly choose: (order: Order, wish: ChannelWish) => ChannelLease
  /** What must be durable before the request is. */
  readonly keep?: (order: Order, request: TaskRequest) => Promise<void>
  /** What was kept is of no use: the request was not recorded. */
  readonly discard?: (request: TaskRequest) => Promise<void>
  /** Once the intent is durable (P1). */
  readonly finish: (order: Order, begun: BegunTask) => Promise<CreatedTask>
}

/**
 * Life of a task, first part: rules → quote → admission → `TaskRequested` → provider
 * → `TaskSubmitted` → answer. Intent is durable before anything is sent (P1).
 */
export function createCreateTask(deps: TaskDeps): CreateTask {
  return createTaskWith(deps, {
    complete: (input, model) => withAssets(deps, input, model),
    choose: (_input, wish) => {
      const lease = deps.channels.lease(wish)
      if (lease === undefined) throw nobodyToAsk(deps, wish, {})
      return lease
    },
    finish: (input, begun) => submit(deps, input, begun),
  })
}

/** The road of every creation, whoever makes the task. */
export function createTaskWith<Order extends TaskOrder>(
  deps: TaskDeps,
  steps: CreationSteps<Order>,
): (order: Order) => Promise<CreatedTask> {
  return async (asked) => {
    const model = modelFor(deps, asked)
    const startedMs = deps.monotonic.nowMs()
    await deps.log.ready()
    const chosen = await chooseIdentity(deps, asked)
    if (chosen.kind === 'replay') return chosen.task
    const { platformId } = chosen
    try {
      const created = await createNew(deps, steps, { order: asked, model, platformId, startedMs })
      deps.metrics.created.inc({
        model: model.name,
        outcome: created.replayed ? 'replayed' : 'submitted',
      })
      return created
    } catch (error) {
      const failure = withPlatformId(error, platformId)
      const outcome = isDomainError(failure) ? failure.code : 'defect'
      deps.metrics.created.inc({ model: model.name, outcome })
      throw failure
    }
  }
}

/** Finds the assets it uses, each the caller's and usable, and goes to the account that has them. */
async function withAssets(
  deps: TaskDeps,
  input: CreateTaskInput,
  { region }: TaskModel,
): Promise<CreateTaskInput> {
  const { assets: used, principal, requestId } = input
  if (used === undefined || region === undefined) return input
  const { assets, projectName, bodyWith } = used
  const asked = { principal, requestId, region, projectName, assets }
  const { channelId, nativeIds } = await deps.useAssets(asked)
  return { ...input, channelId, upstreamBody: bodyWith(nativeIds) }
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

interface NewTask<Order extends TaskOrder> {
  readonly order: Order
  readonly model: TaskModel
  readonly platformId: string
  readonly startedMs: number
}

async function createNew<Order extends TaskOrder>(
  deps: TaskDeps,
  steps: CreationSteps<Order>,
  task: NewTask<Order>,
): Promise<CreatedTask> {
  const { order: asked, model, platformId } = task
  const reserved = await deps.throttle.request(asked.principal)
  let order = asked
  let begun: BegunTask | undefined
  try {
    if (steps.complete !== undefined) order = await steps.complete(asked, model)
    begun = await begin(deps, steps, { ...task, order })
  } finally {
    // Only what is begun counts.
    if (begun === undefined) reserved?.release('not_started')
  }
  if (begun === undefined) return keyConflict(deps, order, platformId)
  return steps.finish(order, begun)
}

/** Prepares, admits and records a creation; undefined when its id is taken. */
async function begin<Order extends TaskOrder>(
  deps: TaskDeps,
  steps: CreationSteps<Order>,
  task: NewTask<Order>,
): Promise<BegunTask | undefined> {
  const { order, startedMs } = task
  const { request, lease } = await prepare(deps, steps, task)
  let mayBeRecorded = false
  try {
    await steps.keep?.(order, request)
    const taskLimits = taskLimitsOf(await deps.throttle.holdersOf(order.principal))
    const { kind } = await admitAndRecord(deps, request, taskLimits)
    mayBeRecorded = kind === 'recorded'
  } catch (error) {
    mayBeRecorded = isDomainError(error, 'log_outcome_unknown')
    lease.release('neutral')
    throw error
  } finally {
    if (!mayBeRecorded && steps.discard !== undefined)
      await quietly(deps, request.platformId, steps.discard(request))
  }
  if (mayBeRecorded) return { request, lease, startedMs }
  lease.release('neutral')
  return undefined
}

async function prepare<Order extends TaskOrder>(
  deps: TaskDeps,
  steps: CreationSteps<Order>,
  { order: input, model, platformId }: NewTask<Order>,
): Promise<Pick<BegunTask, 'request' | 'lease'>> {
  const rules = deps.catalog.taskFamily(input.family)
  const quote = rules.quote(model.name, input.facts, await deps.prices.of(input.principal.tenantId))
  const { region, name } = model
  const wish = {
    family: input.family,
    model: name,
    ...(region === undefined ? {} : { region }),
    ...(input.channelId === undefined ? {} : { channelId: input.channelId }),
  }
  const lease = steps.choose(input, wish)
  const { channel } = lease
  const { principal, idempotencyKey, callerMarker } = input
  const nowMs = deps.clock.nowMs()
  // One that is made here is not looked for upstream.
  const graceMs = rules.madeHere === undefined ? EXPIRY_GRACE_MS : 0
  const expiryMs = (input.executionExpiresAfterS ?? rules.defaultExpiryS) * 1_000 + graceMs
  const secret = deps.markerSecret
  const request: TaskRequest = {
    platformId,
    family: input.family,
    surface: input.surface,
    tenantId: principal.tenantId,
    userId: principal.userId,
    tokenId: principal.tokenId,
    requestId: input.requestId,
    model: name,
    region: region ?? channel.region,
    channelId: channel.id,
    channelIds: deps.channels.serving(wish).map(({ id }) => id),
    upstreamModel: channel.models[name] ?? name,
    facts: input.facts,
    ...(rules.madeHere === undefined ? {} : { madeHere: true }),
    marker: callerMarker ?? markerOf(secret, principal.tenantId, platformId),
    markerIsOurs: callerMarker === undefined,
    quote,
    ...(idempotencyKey === undefined
      ? {}
      : {
          idempotency: {
            keyHash: keyHashOf(secret, idempotencyKey),
            bodyHash: bodyHashOf(secret, input.bodyHash),
          },
        }),
    requestedAt: toTimestamp(nowMs),
    expiresAt: toTimestamp(nowMs + expiryMs),
  }
  return { request, lease }
}

async function admitAndRecord(
  deps: TaskDeps,
  request: TaskRequest,
  taskLimits: readonly TaskLimit[],
): Promise<Recorded> {
  const { platformId, tenantId, userId, tokenId, quote } = request
  const { currency, hold } = quote
  deps.crashPoint('create.before-admission')
  const holdPico = parseAmount(hold)
  const budgeted = await deps.budgets.reserve(request, currency, holdPico)
  try {
    await admit(deps, { platformId, tenantId, userId, tokenId, currency, hold, taskLimits })
    deps.crashPoint('create.before-requested')
    const recorded = await recordRequested(deps, request, newCommandId(deps.clock.nowMs()))
    // What it holds is in the ledger from there on.
    if (recorded.kind === 'recorded')
      budgeted?.commit({ amountPico: holdPico, tokens: 0, position: recorded.position })
    deps.crashPoint('create.after-requested')
    return recorded
  } catch (error) {
    if (isDomainError(error, 'log_outcome_unknown'))
      budgeted?.commit({ amountPico: holdPico, tokens: 0, position: undefined })
    throw error
  } finally {
    budgeted?.release('not_started')
  }
}

/** @throws as `Admissions.admit` */
async function admit(deps: TaskDeps, request: AdmissionRequest): Promise<void> {
  try {
    await deps.admissions.admit(request)
  } catch (error) {
    const { tenantId } = request
    if (!isDomainError(error, 'rate_limited') || deps.recent.of(tenantId) === undefined) throw error
    // A task whose end was written here a moment ago keeps its place until it is projected.
    await catchUp(deps, 'tasks', tenantId)
    await deps.admissions.admit(request)
  }
}

/** Codes of refusals before anything was written. */
const nothingBegun: ReadonlySet<DomainCode> = new Set<DomainCode>([
  'log_unavailable',
  'database_unavailable',
  'read_model_behind',
  'overloaded',
  'rate_limited',
  'invalid_request',
  'asset_not_found',
  'asset_not_active',
  'asset_region_mismatch',
])

/** Once an id names something, whoever asked must learn it, whatever went wrong. */
function withPlatformId(error: unknown, platformId: string): unknown {
  if (!isDomainError(error) || 'platformId' in error.details) return error
  // Nothing was written or sent yet: there is nothing to find under the id, and trying again is safe.
  if (nothingBegun.has(error.code)) return error
  return new DomainError(error.code, error.message, { ...error.details, platformId })
}

/**
 * What a creation would hold and may be settled at. Nothing is held, written or sent.
 * @throws DomainError `unknown_model`, `model_not_allowed`, `price_not_configured`, those of `CheckAssets`
 */
export async function quoteTask(
  { catalog, prices, checkAssets }: Pick<TaskDeps, 'catalog' | 'prices' | 'checkAssets'>,
  order: PricedTask,
): Promise<RequestQuote> {
  const { name, region } = modelFor({ catalog }, order)
  const { principal, assets } = order
  if (assets !== undefined && region !== undefined)
    await checkAssets({ principal, region, ...assets })
  return catalog
    .taskFamily(order.family)
    .quote(name, order.facts, await prices.of(order.principal.tenantId))
}
