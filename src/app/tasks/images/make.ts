import type { ImageSeen } from '../../../domain/catalog/image-rules.ts'
import type { TaskCommand, TaskRequest } from '../../../domain/task/state.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { failureFields, isDomainError } from '../../../kernel/errors.ts'
import { pause } from '../../../kernel/pause.ts'
import { ProviderError } from '../../ports/provider.ts'
import type { ImageMedia, ImageTaskDeps } from './deps.ts'
import { type KnownImageTask, recordEnd } from './end.ts'
import { type ImageTaskFailure, type SendOutcome, undeliverable } from './failures.ts'
import { type AnsweredImages, keepResult } from './results.ts'
import { send, type SendingTask } from './send.ts'

/** While the store is unavailable, the worker holds pictures in memory and retries after this. */
const STORE_PAUSE_MS = 2_000
const STORE_PATIENCE_MS = 120_000

export const MAKER = 'policy-make-images'

interface MakingTask extends Omit<SendingTask, 'platformId' | 'requestId'> {
  readonly known: KnownImageTask
  readonly media: ImageMedia
}

/** The factor on pauses, and the signal with which a process that shuts down aborts calls. */
interface MakingTimes {
  readonly scale: number
  readonly signal: AbortSignal
}

/**
 * Makes a started task: sends it, stores its pictures, and records the outcome. Success and
 * settlement are one append, after the pictures are stored.
 */
export async function makeImages(
  deps: ImageTaskDeps,
  { known, media, images, channelQuery, lease }: MakingTask,
  times: MakingTimes,
): Promise<void> {
  const { platformId, requestId } = known.state.request
  const sent = await send(deps, { platformId, requestId, images, channelQuery, lease }, times)
  const { attempts } = sent
  deps.crashPoint('image.after-provider')
  const at = (): string => toTimestamp(deps.clock.nowMs())
  const end = (command: TaskCommand) => recordEnd(deps, known, command, MAKER)
  switch (sent.kind) {
    case 'uncertain':
      deps.crashPoint('image.before-uncertain')
      return end({ kind: 'uncertain', reason: sent.reason, attempts, at: at() })
    case 'failed':
      return end({ kind: 'fail', ...sent.failure, attempts, at: at() })
    case 'answered': {
      const kept = await keep(deps, media, known.state.request, sent, times)
      if (kept.kind === 'failed') return end({ kind: 'fail', ...kept.failure, attempts, at: at() })
      deps.crashPoint('image.after-storage')
      return end({
        kind: 'succeed',
        // The provider has no task for it.
        nativeId: platformId,
        seen: kept.seen,
        attempts,
        // The names of its pictures are derived from this.
        at: toTimestamp(kept.atMs),
      })
    }
  }
}

type Kept =
  | { readonly kind: 'kept'; readonly atMs: number; readonly seen: ImageSeen }
  | Extract<SendOutcome, { readonly kind: 'failed' }>

async function keep(
  deps: ImageTaskDeps,
  { store, results }: ImageMedia,
  { platformId, model }: TaskRequest,
  answered: AnsweredImages,
  times: MakingTimes,
): Promise<Kept> {
  const untilMs = deps.monotonic.nowMs() + STORE_PATIENCE_MS * times.scale
  const atMs = deps.clock.nowMs()
  const inTime = (work: () => Promise<void>): Promise<void> => putInTime(deps, work, untilMs, times)
  const place = {
    put: (key: string, bytes: Uint8Array) =>
      inTime(() => store.put(key, bytes, { sizeBytes: bytes.length })),
    putSealed: (key: string, bytes: Uint8Array) => inTime(() => results.put(key, bytes)),
    signal: times.signal,
  }
  try {
    const seen = await keepResult(deps, { platformId, atMs }, answered, model, place)
    return { kind: 'kept', atMs, seen }
  } catch (error) {
    return failed(deps, platformId, error)
  }
}

/** @throws the error of the last try */
async function putInTime(
  deps: ImageTaskDeps,
  work: () => Promise<void>,
  untilMs: number,
  { scale, signal }: MakingTimes,
): Promise<void> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isOver = signal.aborted || deps.monotonic.nowMs() >= untilMs
      if (isOver || !isDomainError(error, 'storage_unavailable')) throw error
      deps.logger.warn(failureFields(error), 'images not kept yet')
      await pause(STORE_PAUSE_MS * scale, signal)
    }
  }
}

function failed(
  { logger }: ImageTaskDeps,
  platformId: string,
  error: unknown,
): { readonly kind: 'failed'; readonly failure: ImageTaskFailure } {
  const failure = undeliverable(error)
  const why = error instanceof ProviderError ? { why: error.message } : failureFields(error)
  logger.warn({ platformId, ...why, code: failure.code }, 'images not delivered')
  return { kind: 'failed', failure }
}
