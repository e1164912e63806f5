import type { TaskModel } from '../../domain/families/task-rules.ts'
import { taskFamily } from '../../domain/families/tasks.ts'
import type { TaskRequest } from '../../domain/task/state.ts'
import { toTimestamp, monotonicClock } from '../../kernel/clock.ts'
import { DomainError, isDomainError, type DomainCode } from '../../kernel/errors.ts'
import { nobodyToAsk } from '../channels/attempt.ts'
import type { ChannelLease } from '../channels/directory.ts'
import type { AdmissionRequest } from '../spending/admission.ts'
import { newCommandId } from './commands.ts'
import type { TaskDeps } from './deps.ts'
import { catchUp } from '../access/visibility.ts'
import { bodyHashOf, keyHashOf, markerOf } from './identity.ts'
import { chooseIdentity, keyConflict } from './idempotency.ts'
import { recordRequested } from './record.ts'
import { submit } from './submit.ts'
import type { CreatedTask, CreateTask, CreateTaskInput } from './types.ts'

/** An end upstream is looked for this long after it must have come. */
const EXPIRY_GRACE_MS = 3_600_000

interface Prepared {
  readonly request: TaskRequest
  readonly lease: ChannelLease
}

/**
 * Life of a task, first part: rules → quote → admission → `TaskRequested` → provider
 * → `TaskSubmitted` → answer. Intent is durable before anything is sent (P1).
 */
export function createCreateTask(deps: TaskDeps): CreateTask {
  return async (input) => {
    const model = modelFor(input)
    const startedMs = monotonicClock.nowMs()
    await deps.log.ready()
    const chosen = await chooseIdentity(deps, input)
    if (chosen.kind === 'replay') return chosen.task
    const { platformId } = chosen
    try {
      const created = await createNew(deps, input, model, platformId, startedMs)
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

function modelFor(input: CreateTaskInput): TaskModel {
  const model = taskFamily(input.family).resolve(input.model)
  if (model === undefined)
    throw new DomainError('unknown_model', 'the model does not exist', { model: input.model })
  const { models } = input.principal
  if (models !== undefined && !models.has(model.name))
    throw new DomainError('model_not_allowed', 'this token may not use the model', {
      model: model.name,
    })
  return model
}

async function createNew(
  deps: TaskDeps,
  input: CreateTaskInput,
  model: TaskModel,
  platformId: string,
  startedMs: number,
): Promise<CreatedTask> {
  const taken = deps.rates.take(input.principal)
  let begun: Prepared | undefined
  try {
    begun = await begin(deps, input, model, platformId)
  } finally {
    // Only what is begun counts.
    if (begun === undefined) taken?.giveBack()
  }
  if (begun === undefined) return keyConflict(deps, input, platformId)
  return submit(deps, input, { ...begun, startedMs })
}

/** Prepares, admits and records a creation; undefined when its id is taken. */
async function begin(
  deps: TaskDeps,
  input: CreateTaskInput,
  model: TaskModel,
  platformId: string,
): Promise<Prepared | undefined> {
  const prepared = await prepare(deps, input, model, platformId)
  const { request, lease } = prepared
  let isBegun = false
  try {
    const recorded = await admitAndRecord(deps, request, input.principal.limits?.concurrentTasks)
    isBegun = recorded.kind === 'recorded'
  } finally {
    if (!isBegun) lease.release('neutral')
  }
  return isBegun ? prepared : undefined
}

async function prepare(
  deps: TaskDeps,
  input: CreateTaskInput,
  model: TaskModel,
  platformId: string,
): Promise<Prepared> {
  const rules = taskFamily(input.family)
  const quote = rules.quote(model.name, input.facts, await deps.prices.current())
  const wish = { family: input.family, region: model.region, model: model.name }
  const lease = deps.channels.lease(wish)
  if (lease === undefined) throw nobodyToAsk(deps, wish, {})
  const { principal, idempotencyKey, callerMarker } = input
  const nowMs = deps.clock.nowMs()
  const expiryMs = (input.executionExpiresAfterS ?? rules.defaultExpiryS) * 1_000 + EXPIRY_GRACE_MS
  const secret = deps.markerSecret
  const request: TaskRequest = {
    platformId,
    family: input.family,
    surface: input.surface,
    tenantId: principal.tenantId,
    userId: principal.userId,
    tokenId: principal.tokenId,
    requestId: input.requestId,
    model: model.name,
    region: model.region,
    channelId: lease.channel.id,
    channelIds: deps.channels.serving(wish).map(({ id }) => id),
    upstreamModel: lease.channel.models[model.name] ?? model.name,
    facts: input.facts,
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
  concurrentTasks: number | undefined,
): Promise<{ readonly kind: 'recorded' | 'exists' }> {
  const { platformId, tenantId, tokenId, quote } = request
  const { currency, hold } = quote
  deps.crashPoint('create.before-admission')
  await admit(deps, { platformId, tenantId, tokenId, currency, hold, concurrentTasks })
  deps.crashPoint('create.before-requested')
  const recorded = await recordRequested(deps, request, newCommandId(deps.clock.nowMs()))
  deps.crashPoint('create.after-requested')
  return recorded
}

/** @throws as `Admissions.admit` */
async function admit(deps: TaskDeps, request: AdmissionRequest): Promise<void> {
  try {
    await deps.admissions.admit(request)
  } catch (error) {
    const { tenantId } = request
    if (!isDomainError(error, 'rate_limited') || deps.recent.of(tenantId) === undefined) throw error
    // A task whose end was written here a moment ago keeps its place until it is projected.
    await catchUp(deps, tenantId)
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
])

/** Once an id names something, whoever asked must learn it, whatever went wrong. */
function withPlatformId(error: unknown, platformId: string): unknown {
  if (!isDomainError(error) || 'platformId' in error.details) return error
  // Nothing was written or sent yet: there is nothing to find under the id, and trying again is safe.
  if (nothingBegun.has(error.code)) return error
  return new DomainError(error.code, error.message, { ...error.details, platformId })
}
