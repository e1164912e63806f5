import type { ReadyImages } from '../../calls/images/inputs.ts'
import { invariant } from '../../../kernel/assert.ts'
import { pause } from '../../../kernel/pause.ts'
import { attempt, endAttempt, restChannel } from '../../channels/attempt.ts'
import type { ChannelLease, ChannelQuery } from '../../channels/directory.ts'
import { ProviderError } from '../../ports/provider.ts'
import { callOptions, callUpstream } from '../../channels/call-upstream.ts'
import type { ImageTaskDeps } from './deps.ts'
import { imageTaskFailure, type SendOutcome, sentOf } from './failures.ts'

/** Channels tried one after another, each only if the one before ruled out acceptance. */
const MAX_CHANNELS = 3
/** While every channel is busy, a started task waits for one: at first this long. */
const FIRST_BUSY_MS = 1_000
const LONGEST_BUSY_MS = 20_000
/** A started task waits for a channel this long in all: with a channel's longest answer, less than a task may take. */
const BUSY_PATIENCE_MS = 120_000

export interface SendingTask {
  readonly platformId: string
  readonly requestId: string
  readonly images: ReadyImages
  readonly channelQuery: ChannelQuery
  /** The first channel, held. */
  readonly lease: ChannelLease
}

type Attempted<Outcome> = Outcome & {
  /** Number of requests that were made upstream. */
  readonly attempts: number
}

/**
 * Sends a started task upstream until a channel answers or may have accepted it: it is never sent
 * again after possible acceptance (P5). `scale` multiplies every pause.
 */
export async function send(
  deps: ImageTaskDeps,
  task: SendingTask,
  { scale, signal }: { readonly scale: number; readonly signal: AbortSignal },
): Promise<Attempted<SendOutcome>> {
  const untilMs = deps.monotonic.nowMs() + BUSY_PATIENCE_MS * scale
  let first: ChannelLease | undefined = task.lease
  let attempts = 0
  for (let busyMs = FIRST_BUSY_MS; ; busyMs = Math.min(2 * busyMs, LONGEST_BUSY_MS)) {
    const sent = await sendOnce(deps, task, first, signal)
    attempts += sent.attempts
    if (sent.kind !== 'busy') return { ...sent, attempts }
    const waitMs = Math.max(busyMs * scale, sent.retryAfterMs ?? 0)
    if (signal.aborted || deps.monotonic.nowMs() + waitMs > untilMs)
      return { ...sent.otherwise, attempts }
    await pause(waitMs, signal)
    first = undefined
  }
}

interface Busy {
  readonly kind: 'busy'
  readonly retryAfterMs: number | undefined
  /** The outcome when the wait is over. */
  readonly otherwise: SendOutcome
}

async function sendOnce(
  deps: ImageTaskDeps,
  task: SendingTask,
  first: ChannelLease | undefined,
  signal: AbortSignal,
): Promise<Attempted<SendOutcome | Busy>> {
  const { platformId, requestId, images, channelQuery } = task
  const provider = deps.imageProviders.get(channelQuery.family)
  invariant(provider, `every family of images has a provider: ${channelQuery.family}`)
  const plan = {
    sharer: task.lease.sharer,
    channelQuery,
    maxChannels: MAX_CHANNELS,
    ...(first === undefined ? {} : { first }),
    onFailure: ({ id: channelId }: { readonly id: string }, error: unknown) => {
      if (!(error instanceof ProviderError)) return
      const { kind, acceptance, code: upstreamCode } = error
      deps.logger.warn({ platformId, channelId, kind, acceptance, upstreamCode }, 'images failed')
    },
  }
  const sent = await attempt(deps, plan, (channel) => {
    const upstreamModel = channel.models[images.model] ?? images.model
    const options = { ...callOptions(requestId, signal), once: true } as const
    return callUpstream(deps, channel, 'create', () =>
      provider.make(channel, { ...images, upstreamModel }, options),
    )
  })
  if (sent.kind === 'untried') {
    const failure = imageTaskFailure('model_unavailable', false)
    const otherwise = { kind: 'failed', failure } as const
    return { kind: 'busy', retryAfterMs: undefined, otherwise, attempts: 0 }
  }
  if (sent.kind === 'failed') {
    const { error, attempts } = sent
    const otherwise = sentOf(error)
    if (!isBusy(error)) return { ...otherwise, attempts }
    return { kind: 'busy', retryAfterMs: error.retryAfterMs, otherwise, attempts }
  }
  const { lease, result: answer, attempts } = sent
  endAttempt(deps, channelQuery, lease, undefined)
  restChannel(deps, channelQuery, lease.channel, answer.restMs)
  const { failure } = answer
  if (failure === undefined) return { kind: 'answered', answer, channel: lease.channel, attempts }
  return { kind: 'failed', failure: imageTaskFailure(failure.code, true), attempts }
}

/** The channel began no work, and may be free in a moment. */
function isBusy({ acceptance, kind }: ProviderError): boolean {
  return acceptance === 'ruled_out' && (kind === 'rate_limited' || kind === 'unavailable')
}
