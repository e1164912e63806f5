import { type DuePoll, leaseDuePolls, reschedulePolls } from '../../../projections/tasks/query.ts'
import { pause } from '../../kernel/pause.ts'
import type { ChannelLease, ChannelWish } from '../channels/directory.ts'
import { jittered } from '../tasks/watch/intervals.ts'
import type { PolicySettings } from '../tasks/watch/poll.ts'
import { prepareImages, startImages } from './begin.ts'
import type { ImageTaskDeps } from './deps.ts'
import { makeImages } from './make.ts'

/** Ample from taking a task to saying that it is begun; what a dead worker has is freed sooner. */
const LEASE_MS = 600_000
const LOOK_AGAIN_MS = 20
/** What cannot be begun now is looked at again after this, doubled with every time. */
const PUT_OFF_MS = 1_000
const LONGEST_PUT_OFF_MS = 30_000
/** A process that ends lets calls go on for so long, then breaks them off: their outcome is unknown. */
const DRAIN_MS = 20_000

export interface ImageMaker {
  /** One round: leases what waits, as far as there is room, and begins it. */
  readonly round: (signal: AbortSignal) => Promise<'more' | 'idle'>
  /** Waits for what is under way, and breaks off what takes too long. */
  readonly drain: () => Promise<void>
}

/** Begins what waits; rounds do not wait for it to be made. */
export function createImageMaker(deps: ImageTaskDeps, settings: PolicySettings): ImageMaker {
  const { maxMaking, maxMakingAChannel } = deps.imageLimits
  const { owner, scale } = settings
  const breakOff = new AbortController()
  const underWay = new Set<Promise<void>>()
  const byChannel = new Map<string, number>()

  const take = (channelId: string, change: 1 | -1): void => {
    byChannel.set(channelId, (byChannel.get(channelId) ?? 0) + change)
  }
  /** Those through which as much is made as may be. */
  const full = (): ReadonlySet<string> =>
    new Set([...byChannel].filter(([, count]) => count >= maxMakingAChannel).map(([id]) => id))

  const lease = (wish: ChannelWish): ChannelLease | undefined => deps.channels.lease(wish, full())

  const work = async (poll: DuePoll): Promise<void> => {
    const job = await prepareImages(deps, poll, lease)
    if (job === 'ended') return
    if (job === 'later') return putOff(deps, settings, poll)
    const channelId = job.lease.channel.id
    take(channelId, 1)
    try {
      const known = await startImages(deps, job, scale)
      if (known === 'later') return await putOff(deps, settings, poll)
      if (known === undefined) return
      deps.crashPoint('image.after-start')
      await makeImages(deps, { ...job, known }, { scale, signal: breakOff.signal })
    } finally {
      take(channelId, -1)
    }
  }

  const run = (poll: DuePoll): void => {
    const done: Promise<void> = work(poll)
      .catch((error: unknown) => {
        // What was begun ends by its deadline; what was not is due again with its lease.
        deps.metrics.policyFailures.inc({ policy: 'make-images' })
        deps.logger.warn({ platformId: poll.platformId, err: error }, 'images broken off')
      })
      .finally(() => underWay.delete(done))
    underWay.add(done)
  }

  return {
    round: async (signal) => {
      while (underWay.size >= maxMaking && !signal.aborted) await pause(LOOK_AGAIN_MS, signal)
      const limit = maxMaking - underWay.size
      const nowMs = deps.clock.nowMs()
      const due = await leaseDuePolls(deps.pool, {
        owner,
        nowMs,
        leaseMs: LEASE_MS,
        limit,
        kind: 'make',
      })
      for (const poll of due) run(poll)
      return due.length === limit ? 'more' : 'idle'
    },
    drain: async () => {
      const patience = new AbortController()
      const all = Promise.all(underWay).finally(() => patience.abort())
      await Promise.race([all, pause(DRAIN_MS, patience.signal)])
      breakOff.abort()
      await all
    },
  }
}

async function putOff(
  { pool, clock }: ImageTaskDeps,
  { owner, scale }: PolicySettings,
  { platformId, attempts }: DuePoll,
): Promise<void> {
  const doubled = PUT_OFF_MS * 2 ** Math.min(Math.max(0, attempts - 1), 16)
  const waitMs = jittered(Math.min(doubled, LONGEST_PUT_OFF_MS) * scale)
  await reschedulePolls(pool, owner, [{ platformId, dueAtMs: clock.nowMs() + waitMs }])
}
