import type { TaskRequest } from '../../domain/task/state.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { unreachable } from '../../kernel/assert.ts'
import type { ChannelLease, ChannelOutcome } from '../channels/directory.ts'
import type { ProviderError } from '../ports.ts'
import type { TaskDeps } from './deps.ts'
import { recordOutcome, taskError } from './record.ts'
import type { CreatedTask, CreateTaskInput } from './types.ts'
import { asProviderError, callOptions, callUpstream, providerOf } from './upstream.ts'

/** Channels tried for one creation, each only after the one before ruled acceptance out. */
const MAX_CHANNELS_A_CREATION = 3

export interface Submission {
  readonly request: TaskRequest
  readonly lease: ChannelLease
  /** `performance.now()` when the use case began. */
  readonly startedMs: number
}

type Sent =
  | { readonly kind: 'accepted'; readonly nativeId: string; readonly channelId: string }
  | { readonly kind: 'refused' | 'uncertain'; readonly error: ProviderError }

/**
 * Sends a recorded request upstream, once: another channel is tried only if the failure is known
 * to precede acceptance and is not the caller's (P5).
 * @throws DomainError `submission_refused`, `submission_uncertain`
 */
export async function submit(
  deps: TaskDeps,
  input: CreateTaskInput,
  submission: Submission,
): Promise<CreatedTask> {
  const { request, startedMs } = submission
  const sentMs = performance.now()
  const sent = await send(deps, input, submission)
  const answeredMs = performance.now()
  deps.crashPoint('create.after-provider')
  try {
    return await conclude(deps, request, sent)
  } finally {
    const overheadMs = performance.now() - startedMs - (answeredMs - sentMs)
    deps.metrics.createOverhead.observe({ outcome: sent.kind }, overheadMs / 1_000)
  }
}

async function send(
  deps: TaskDeps,
  input: CreateTaskInput,
  { request, lease: first }: Submission,
): Promise<Sent> {
  const provider = providerOf(deps, input.family)
  const tried = new Set<string>()
  let lease = first
  for (;;) {
    const { channel, release } = lease
    tried.add(channel.id)
    const submission = {
      model: channel.models[request.model] ?? request.upstreamModel,
      body: input.upstreamBody,
      marker: request.marker,
    }
    try {
      const { nativeId } = await callUpstream(deps, channel, 'create', () =>
        provider.create(channel, submission, callOptions(request.requestId)),
      )
      release('success')
      return { kind: 'accepted', nativeId, channelId: channel.id }
    } catch (caught) {
      const error = asProviderError(caught)
      release(outcomeFor(error))
      deps.logger.warn(
        {
          platformId: request.platformId,
          requestId: request.requestId,
          channelId: channel.id,
          kind: error.kind,
          acceptance: error.acceptance,
          upstreamCode: error.code,
        },
        'creation failed upstream',
      )
      if (error.acceptance !== 'ruled_out') return { kind: 'uncertain', error }
      const next = nextLease(deps, request, error, tried)
      if (next === undefined) return { kind: 'refused', error }
      lease = next
    }
  }
}

function nextLease(
  deps: TaskDeps,
  request: TaskRequest,
  error: ProviderError,
  tried: ReadonlySet<string>,
): ChannelLease | undefined {
  if (error.kind === 'invalid' || tried.size >= MAX_CHANNELS_A_CREATION) return undefined
  const { family, region, model } = request
  return deps.channels.lease({ family, region, model }, tried)
}

/** What a failure says of the channel's health. */
function outcomeFor(error: ProviderError): ChannelOutcome {
  switch (error.kind) {
    case 'invalid':
      return 'success'
    // The account may lack one model only: that must not close the channel for the others.
    case 'rate_limited':
    case 'account':
      return 'neutral'
    case 'unavailable':
    case 'timeout':
    case 'malformed':
      return 'failure'
    default:
      return unreachable(error.kind)
  }
}

async function conclude(deps: TaskDeps, request: TaskRequest, sent: Sent): Promise<CreatedTask> {
  const { platformId } = request
  const at = toTimestamp(deps.clock.nowMs())
  if (sent.kind === 'accepted') {
    const { nativeId, channelId } = sent
    const durable = await recordOutcome(deps, request, {
      kind: 'submitted',
      nativeId,
      channelId,
      via: 'create',
      at,
    })
    deps.crashPoint('create.after-submitted')
    if (durable) return { platformId, nativeId, replayed: false }
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
