import type { ReadyImages } from '../../calls/images/inputs.ts'
import { sharerOf } from '../../../domain/token/sharer.ts'
import { invariant } from '../../../kernel/assert.ts'
import { fromTimestamp, toTimestamp } from '../../../kernel/clock.ts'
import { isDomainError } from '../../../kernel/errors.ts'
import { pause } from '../../../kernel/pause.ts'
import type { Sharer } from '../../../kernel/sharers.ts'
import type { ChannelLease, ChannelQuery } from '../../channels/directory.ts'
import { executeTaskCommand, loadTask, newCommandId } from '../task-log.ts'
import type { DuePoll } from '../watch/task-work.ts'
import { isLogOutage } from '../background-appends.ts'
import type { ImageMedia, ImageTaskDeps } from './deps.ts'
import { type KnownImageTask, recordEnd } from './end.ts'
import { imageTaskFailure } from './failures.ts'
import { MAKER } from './make.ts'
import { readPayload } from './payload.ts'

/** After this many reads of the log for a start, the task is left to its deadline. */
const START_TRIES = 6
const START_PAUSE_MS = 5_000

/** A waiting task that can be started, with its order and a held channel. */
interface ReadyTask {
  readonly waiting: KnownImageTask
  readonly media: ImageMedia
  readonly images: ReadyImages
  readonly channelQuery: ChannelQuery
  readonly lease: ChannelLease
}

/**
 * `later`: the task cannot be started now. `ended`: the task has ended.
 * @throws the log's codes
 */
export async function prepareImages(
  deps: ImageTaskDeps,
  { platformId }: DuePoll,
  leaseOf: (sharer: Sharer, channelQuery: ChannelQuery) => ChannelLease | undefined,
): Promise<ReadyTask | 'later' | 'ended'> {
  const { media } = deps
  const state = await loadTask(deps.log, platformId)
  // Another worker started it or it ended: the read model does not have that yet.
  if (state.phase !== 'requested') return 'later'
  const { request } = state
  const waiting = { state, revision: 0n }
  const nowMs = deps.clock.nowMs()
  const fail = async (code: string): Promise<'ended'> => {
    const command = {
      kind: 'fail',
      ...imageTaskFailure(code, false),
      at: toTimestamp(nowMs),
    } as const
    await recordEnd(deps, waiting, command, MAKER)
    return 'ended'
  }
  if (nowMs >= fromTimestamp(request.expiresAt)) return fail('waited_too_long')
  if (media === undefined) return 'later'
  const images = await readOrSay(deps, media, waiting)
  if (images === 'later') return 'later'
  if (images === undefined) return fail('request_lost')
  const { family, model } = request
  const channelQuery = { family, model, imageCount: images.count }
  const lease = leaseOf(sharerOf({ ...request, kind: 'model' }), channelQuery)
  return lease === undefined ? 'later' : { waiting, media, images, channelQuery, lease }
}

async function readOrSay(
  { logger }: ImageTaskDeps,
  media: ImageMedia,
  { state }: KnownImageTask,
): Promise<ReadyImages | undefined | 'later'> {
  const { platformId } = state.request
  try {
    return await readPayload(media, state.request)
  } catch (error) {
    logger.warn({ platformId, err: error }, 'request not readable: tried again')
    return 'later'
  }
}

/**
 * Records that the task is about to be sent, at the revision it was read at: of two workers only
 * one succeeds. Undefined: another worker was first.
 */
export async function startImages(
  deps: ImageTaskDeps,
  { waiting, lease }: ReadyTask,
  scale: number,
): Promise<KnownImageTask | undefined | 'later'> {
  const { platformId, tenantId, family } = waiting.state.request
  const { localExecution } = deps.catalog.taskFamily(family)
  invariant(localExecution, `tasks of ${family} are made here`)
  const nowMs = deps.clock.nowMs()
  const command = {
    kind: 'start',
    channelId: lease.channel.id,
    expiresAt: toTimestamp(nowMs + localExecution.longestS * 1_000),
    at: toTimestamp(nowMs),
  } as const
  const commandId = newCommandId(nowMs)
  for (let tries = 1; ; tries += 1) {
    try {
      const { state, revision } = await executeTaskCommand(
        deps,
        platformId,
        command,
        commandId,
        { correlationId: MAKER, tenantId },
        waiting,
      )
      invariant(state.phase === 'started' && revision !== undefined, 'a start starts')
      return { state, revision }
    } catch (error) {
      if (isDomainError(error, 'task_state_conflict')) return releaseLease(lease, undefined)
      // Nothing was sent: the task may be started again, unless the log has the start after all.
      if (!isLogOutage(error)) return releaseLease(lease, 'later')
      if (tries === START_TRIES) return releaseLease(lease, 'later')
      await pause(START_PAUSE_MS * scale)
    }
  }
}

function releaseLease<Outcome>(lease: ChannelLease, outcome: Outcome): Outcome {
  lease.release('neutral')
  return outcome
}
