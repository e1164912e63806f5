import type { RoundOutcome } from '../../queue/policy-loop.ts'
import { pause } from '../../../kernel/pause.ts'
import type { ChannelLease, ChannelWish } from '../../channels/directory.ts'
import { jittered } from '../watch/intervals.ts'
import { createTaskLeases, type DuePoll, leaseInTurn } from '../watch/task-work.ts'
import type { WorkerSettings } from '../../queue/worker.ts'
import { prepareImages, startImages } from './begin.ts'
import type { ImageTaskDeps } from './deps.ts'
import { makeImages } from './make.ts'

/** Ample from a lease to the recorded start; a dead worker's leases are freed sooner. */
const LEASE_MS = 600_000
/** Without room, the round waits for running work, and checks the signal this often. */
const LOOK_AGAIN_MS = 1_000
/** Work that cannot begin now is retried after this, doubled every time. */
const PUT_OFF_MS = 1_000
const LONGEST_PUT_OFF_MS = 30_000
/** At shutdown the process waits this long for calls, then aborts: their outcome is unknown. */
const DRAIN_MS = 20_000

interface ImageMaker {
  /** One round: leases waiting tasks, tenants in turn, as far as there is room, and begins them. */
  readonly round: (signal: AbortSignal) => Promise<RoundOutcome>
  /** Waits for running work, and aborts what takes too long. */
  readonly drain: () => Promise<void>
  /** Tasks that this process is making. */
  readonly making: () => Iterable<string>
}

/** Begins waiting tasks; rounds do not wait until they are made. */
export function createImageMaker(deps: ImageTaskDeps, settings: WorkerSettings): ImageMaker {
  const { maxMaking, maxMakingAChannel } = deps.imageLimits
  const { owner, scale } = settings
  const leases = createTaskLeases(deps, {
    owner,
    lane: 'make',
    leaseMs: LEASE_MS,
    lease: leaseInTurn,
  })
  const breakOff = new AbortController()
  /** With the family of each. */
  const underWay = new Map<Promise<void>, string>()
  const byChannel = new Map<string, number>()
  const capacity = new Map<string, number>()
  for (const { family } of deps.channels.all)
    if (deps.imageProviders.has(family))
      capacity.set(family, (capacity.get(family) ?? 0) + maxMakingAChannel)

  const take = (channelId: string, change: 1 | -1): void => {
    byChannel.set(channelId, (byChannel.get(channelId) ?? 0) + change)
  }
  /** Channels at their limit. */
  const full = (): ReadonlySet<string> =>
    new Set([...byChannel].filter(([, count]) => count >= maxMakingAChannel).map(([id]) => id))

  const lease = (wish: ChannelWish): ChannelLease | undefined => deps.channels.lease(wish, full())

  /** How many more can begin, and the families that cannot: their tasks stay where they are. */
  const room = (): { readonly limit: number; readonly besides: readonly string[] } => {
    const left = new Map(capacity)
    for (const family of underWay.values()) left.set(family, (left.get(family) ?? 0) - 1)
    const besides = [...left].filter(([, count]) => count <= 0).map(([family]) => family)
    const open = [...left.values()].filter((count) => count > 0)
    // All leased tasks may be of one family. Without any channel, tasks still end by waiting too
    // long.
    const most = capacity.size > 0 && open.length === 0 ? 0 : Math.min(maxMaking, ...open)
    return { limit: Math.min(maxMaking - underWay.size, most), besides }
  }

  const putOff = async ({ platformId, attempts }: DuePoll): Promise<void> => {
    const doubled = PUT_OFF_MS * 2 ** Math.min(Math.max(0, attempts - 1), 16)
    const waitMs = jittered(Math.min(doubled, LONGEST_PUT_OFF_MS) * scale)
    await leases.giveBack([{ id: platformId, dueAtMs: deps.clock.nowMs() + waitMs }])
  }

  /** `later`: it was not begun. */
  const work = async (poll: DuePoll): Promise<'later' | undefined> => {
    const job = await prepareImages(deps, poll, lease)
    if (job === 'ended') return undefined
    if (job === 'later') return 'later'
    const channelId = job.lease.channel.id
    take(channelId, 1)
    try {
      const known = await startImages(deps, job, scale)
      if (known === 'later') return 'later'
      if (known === undefined) return undefined
      deps.crashPoint('image.after-start')
      await makeImages(deps, { ...job, known }, { scale, signal: breakOff.signal })
      return undefined
    } finally {
      take(channelId, -1)
    }
  }

  const workOrPutOff = async (poll: DuePoll): Promise<void> => {
    const { platformId } = poll
    const report = (error: unknown): void => {
      deps.metrics.policyFailures.inc({ policy: 'make-images' })
      deps.logger.warn({ platformId, err: error }, 'images broken off')
    }
    try {
      const isPutOff = await work(poll).catch((error: unknown) => {
        // A begun task ends like that of a worker that died.
        report(error)
        return 'later'
      })
      if (isPutOff === 'later') await putOff(poll)
      leases.forget([platformId])
    } catch (error) {
      report(error)
      leases.abandon([platformId])
    }
  }

  const run = (poll: DuePoll): void => {
    const done: Promise<void> = workOrPutOff(poll).finally(() => underWay.delete(done))
    underWay.set(done, poll.family)
  }

  return {
    round: async (signal) => {
      while (room().limit <= 0 && !signal.aborted)
        await Promise.race([...underWay.keys(), pause(LOOK_AGAIN_MS, signal)])
      const { limit, besides } = room()
      if (limit <= 0) return 'idle'
      const nowMs = deps.clock.nowMs()
      const due = await leases.take({ nowMs, limit, besides })
      for (const poll of due) run(poll)
      if (due.length === 0) return 'idle'
      return due.length === limit ? 'more' : 'some'
    },
    drain: async () => {
      const patience = new AbortController()
      const all = Promise.all(underWay.keys()).finally(() => patience.abort())
      await Promise.race([all, pause(DRAIN_MS, patience.signal)])
      breakOff.abort()
      await all
    },
    making: leases.ids,
  }
}
