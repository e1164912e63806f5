import type { TaskRequest } from '../../domain/task/state.ts'
import { invariant } from '../../kernel/assert.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { attempt, endAttempt } from '../channels/attempt.ts'
import type { ChannelLease } from '../channels/directory.ts'
import {
  type AcceptedTask,
  type Channel,
  ProviderError,
  type TaskProvider,
} from '../ports/provider.ts'
import type { TaskDeps } from './deps.ts'
import { recordOutcome, taskError } from './task-log.ts'
import type { CreatedTask, CreateTaskInput } from './types.ts'
import { callOptions, callUpstream } from '../channels/call-upstream.ts'

/** Channels tried for one creation. */
const MAX_CHANNELS_A_CREATION = 3
/** Sending begins within this, or never: later, others decide whether upstream has it. */
const SENDING_BEGINS_MS = 30_000

/** A creation whose intent is durable. */
export interface BegunTask {
  readonly request: TaskRequest
  readonly lease: ChannelLease
  /** Monotonic time at which the use case began. */
  readonly startedMs: number
}

type Sent =
  | (AcceptedTask & { readonly kind: 'accepted'; readonly channelId: string })
  | { readonly kind: 'refused' | 'uncertain'; readonly error: ProviderError }

/**
 * Sends a recorded request upstream, once: another channel is tried only if the failure is known
 * to precede acceptance and is not the caller's (P5).
 * @throws DomainError `submission_refused`, `submission_uncertain`
 */
export async function submit(
  deps: TaskDeps,
  input: CreateTaskInput,
  submission: BegunTask,
): Promise<CreatedTask> {
  const { request, startedMs } = submission
  const sentMs = deps.monotonic.nowMs()
  // A process that was suspended may resume long after its creation was given up.
  const isLate = deps.monotonic.nowMs() - submission.startedMs > SENDING_BEGINS_MS
  const sent = isLate ? tooLate(submission) : await send(deps, input, submission)
  const answeredMs = deps.monotonic.nowMs()
  deps.crashPoint('create.after-provider')
  try {
    return await conclude(deps, request, sent)
  } finally {
    const overheadMs = deps.monotonic.nowMs() - startedMs - (answeredMs - sentMs)
    deps.metrics.createOverhead.observe({ outcome: sent.kind }, overheadMs / 1_000)
  }
}

function tooLate({ lease }: BegunTask): Sent {
  lease.release('neutral')
  const message = 'The request was held up for too long and was not sent to the model service.'
  return { kind: 'refused', error: new ProviderError('unavailable', 'ruled_out', message) }
}

async function send(
  deps: TaskDeps,
  input: CreateTaskInput,
  { request, lease: first }: BegunTask,
): Promise<Sent> {
  const provider = providerOf(deps, input.family)
  const { tenantId, family, region, model, marker } = request
  const { channelId } = input
  const channelQuery = { family, region, model, ...(channelId === undefined ? {} : { channelId }) }
  const onFailure = (channel: Channel, error: unknown): void => {
    if (error instanceof ProviderError) logFailure(deps, request, channel, error)
  }
  const plan = { tenantId, channelQuery, maxChannels: MAX_CHANNELS_A_CREATION, first, onFailure }
  const sent = await attempt(deps, plan, (channel) => {
    const upstreamModel = channel.models[model] ?? request.upstreamModel
    const { settings } = request.facts
    const submission = { model: upstreamModel, body: input.upstreamBody, settings, marker }
    return callUpstream(deps, channel, 'create', () =>
      provider.create(channel, submission, callOptions(request.requestId)),
    )
  })
  invariant(sent.kind !== 'untried', 'a creation is begun with a channel')
  if (sent.kind === 'failed') {
    const { error } = sent
    return { kind: error.acceptance === 'ruled_out' ? 'refused' : 'uncertain', error }
  }
  const { lease, result } = sent
  endAttempt(deps, channelQuery, lease, undefined)
  return { kind: 'accepted', ...result, channelId: lease.channel.id }
}

function logFailure(
  { logger }: TaskDeps,
  { platformId, requestId }: TaskRequest,
  { id: channelId }: Channel,
  { kind, acceptance, code: upstreamCode }: ProviderError,
): void {
  logger.warn(
    { platformId, requestId, channelId, kind, acceptance, upstreamCode },
    'creation failed upstream',
  )
}

async function conclude(deps: TaskDeps, request: TaskRequest, sent: Sent): Promise<CreatedTask> {
  const { platformId } = request
  const createdAtMs = fromTimestamp(request.requestedAt)
  const at = toTimestamp(deps.clock.nowMs())
  if (sent.kind === 'accepted') {
    const { nativeId, usage, channelId } = sent
    const durable = await recordOutcome(deps, request, {
      kind: 'submitted',
      nativeId,
      channelId,
      via: 'create',
      usage,
      at,
    })
    deps.crashPoint('create.after-submitted')
    if (durable) return { platformId, nativeId, usage, replayed: false, createdAtMs }
    throw taskError(
      'submission_uncertain',
      'the task was accepted but could not be recorded in time',
      platformId,
    )
  }
  const { error } = sent
  if (sent.kind === 'refused') {
    deps.crashPoint('create.before-refused')
    await recordOutcome(deps, request, {
      kind: 'refuse',
      code: error.code ?? error.kind,
      message: error.message,
      at,
    })
    throw taskError('submission_refused', error.message, platformId, {
      kind: error.kind,
      upstreamCode: error.code,
      param: error.param,
      retryAfterMs: error.retryAfterMs,
    })
  }
  deps.crashPoint('create.before-uncertain')
  await recordOutcome(deps, request, { kind: 'uncertain', reason: error.kind, at })
  throw taskError(
    'submission_uncertain',
    'the model service gave no clear answer; the task may exist',
    platformId,
    { kind: error.kind },
  )
}

/** The adapter of a family. */
export function providerOf(deps: Pick<TaskDeps, 'providers'>, family: string): TaskProvider {
  const provider = deps.providers.get(family)
  invariant(provider, `every family has a provider: ${family}`)
  return provider
}
