import type { NativeAssetIds } from '../../domain/catalog/checks/media.ts'
import type { TaskRequest } from '../../domain/task/state.ts'
import { invariant } from '../../kernel/assert.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import type { DomainError } from '../../kernel/errors.ts'
import { attempt, endAttempt } from '../channels/attempt.ts'
import type { ChannelLease, ChannelQuery } from '../channels/directory.ts'
import {
  type AcceptedTask,
  type Channel,
  ProviderError,
  type TaskProvider,
} from '../ports/provider.ts'
import type { TaskDeps } from './deps.ts'
import { logFailure, recordOutcome, taskError } from './task-log.ts'
import type { CreatedTask, CreateTaskInput } from './types.ts'
import { callOptions, callUpstream } from '../channels/call-upstream.ts'

/** Channels tried for one creation. */
const MAX_CHANNELS_A_CREATION = 3
/**
 * Time within which a creation begins to send, or never: until then no sweep has released its
 * reservation, and no other process has decided whether upstream has it.
 */
const SENDING_BEGINS_MS = 30_000

/** A creation that is sent upstream. */
export interface SubmittedTask extends CreateTaskInput {
  /** The ids that the chosen account has for its assets; none without assets. */
  readonly nativeIds: NativeAssetIds
}

/** A creation whose intent is durable. */
export interface BegunTask {
  readonly request: TaskRequest
  readonly lease: ChannelLease
  /** The channels that may have it. */
  readonly channelQuery: ChannelQuery
  /** Monotonic time at which the use case began. */
  readonly startedMs: number
  /** Monotonic time right before its funds were reserved. */
  readonly reservedMs: number
}

type Sent = (
  | (AcceptedTask & { readonly kind: 'accepted'; readonly channelId: string })
  | { readonly kind: 'refused' | 'uncertain'; readonly error: ProviderError }
) & {
  /** Number of channels that were asked. */
  readonly attempts: number
}

/**
 * Sends a recorded request upstream, once: another channel is tried only if the failure is known
 * to precede acceptance and is not the caller's (P5).
 * @throws DomainError `submission_refused`, `submission_uncertain`
 */
export async function submit(
  deps: TaskDeps,
  input: SubmittedTask,
  submission: BegunTask,
): Promise<CreatedTask> {
  const { request, startedMs } = submission
  const sentMs = deps.monotonic.nowMs()
  const sent = await send(deps, input, submission)
  const answeredMs = deps.monotonic.nowMs()
  deps.crashPoint('create.after-provider')
  try {
    return await conclude(deps, request, sent)
  } finally {
    const overheadMs = deps.monotonic.nowMs() - startedMs - (answeredMs - sentMs)
    deps.metrics.createOverhead.observe({ outcome: sent.kind }, overheadMs / 1_000)
  }
}

/**
 * Whether a creation took so long, as in a suspended process, that its reservation may be given
 * back and its submission given up.
 */
export function isHeldUp({ monotonic }: TaskDeps, { reservedMs }: BegunTask): boolean {
  return monotonic.nowMs() - reservedMs > SENDING_BEGINS_MS
}

/**
 * Ends a recorded creation that was held up. `discard` deletes the data from which a worker would
 * make it.
 * @throws DomainError always: `submission_refused`, `log_outcome_unknown` where a worker may make
 *   it as long as the log has no refusal
 */
export async function refuseHeldUp(
  deps: TaskDeps,
  { request, lease }: BegunTask,
  discard: ((request: TaskRequest) => Promise<void>) | undefined,
): Promise<never> {
  lease.release('neutral')
  const message = 'The request was held up for too long and was not sent to the model service.'
  const error = new ProviderError('unavailable', 'ruled_out', message)
  const { platformId } = request
  const durable = await recordRefusal(deps, request, error)
  if (discard !== undefined) {
    if (!durable) throw taskError('log_outcome_unknown', 'a worker may make it', platformId)
    await logFailure(deps, platformId, discard(request))
  }
  throw refusalOf(platformId, error)
}

async function send(
  deps: TaskDeps,
  input: SubmittedTask,
  { request, lease: first, channelQuery }: BegunTask,
): Promise<Sent> {
  const provider = providerOf(deps, input.family)
  const { model, marker } = request
  const { sharer } = first
  const onFailure = (channel: Channel, error: unknown): void => {
    if (error instanceof ProviderError) logFailedTry(deps, request, channel, error)
  }
  const plan = { sharer, channelQuery, maxChannels: MAX_CHANNELS_A_CREATION, first, onFailure }
  const sent = await attempt(deps, plan, (channel) => {
    const upstreamModel = channel.models[model] ?? request.upstreamModel
    const { settings } = request.facts
    const body = input.upstreamBody(input.nativeIds)
    const submission = { model: upstreamModel, body, settings, marker }
    return callUpstream(deps, channel, 'create', () =>
      provider.create(channel, submission, callOptions(request.requestId)),
    )
  })
  invariant(sent.kind !== 'untried', 'a creation is begun with a channel')
  if (sent.kind === 'failed') {
    const { error, attempts } = sent
    return { kind: error.acceptance === 'ruled_out' ? 'refused' : 'uncertain', error, attempts }
  }
  const { lease, result, attempts } = sent
  endAttempt(deps, channelQuery, lease, undefined)
  return { kind: 'accepted', ...result, channelId: lease.channel.id, attempts }
}

function logFailedTry(
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
  const { attempts } = sent
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
      attempts,
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
    await recordRefusal(deps, request, error, attempts)
    throw refusalOf(platformId, error)
  }
  deps.crashPoint('create.before-uncertain')
  await recordOutcome(deps, request, { kind: 'uncertain', reason: error.kind, attempts, at })
  throw taskError(
    'submission_uncertain',
    'the model service gave no clear answer; the task may exist',
    platformId,
    { kind: error.kind },
  )
}

/** Returns whether the refusal is durable. */
function recordRefusal(
  deps: TaskDeps,
  request: TaskRequest,
  { code, kind, message }: ProviderError,
  attempts?: number,
): Promise<boolean> {
  const at = toTimestamp(deps.clock.nowMs())
  const refusal = { kind: 'refuse', code: code ?? kind, message, attempts, at } as const
  return recordOutcome(deps, request, refusal)
}

function refusalOf(platformId: string, error: ProviderError): DomainError {
  return taskError('submission_refused', error.message, platformId, {
    kind: error.kind,
    upstreamCode: error.code,
    param: error.param,
    retryAfterMs: error.retryAfterMs,
  })
}

/** The adapter of a family. */
export function providerOf(deps: Pick<TaskDeps, 'providers'>, family: string): TaskProvider {
  const provider = deps.providers.get(family)
  invariant(provider, `every family has a provider: ${family}`)
  return provider
}
