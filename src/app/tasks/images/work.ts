import type { RoundOutcome } from '../../queue/policy-loop.ts'
import { pause } from '../../../kernel/pause.ts'
import type { Sharer } from '../../../kernel/sharers.ts'
import type { ChannelLease, ChannelQuery } from '../../channels/directory.ts'
import { jittered } from '../watch/intervals.ts'
import { createTaskLeases, type DuePoll, leaseInTurn } from '../watch/task-work.ts'
import type { WorkerSettings } from '../../queue/worker.ts'
import { prepareImages, startImages } from './begin.ts'
import type { ImageTaskDeps } from './deps.ts'
import { makeImages } from './make.ts'

/** Ample from a lease to the recorded start; a dead worker's leases are freed sooner. */
const LEASE_MS = 600_000
/**
 * If there is no room, the round waits for running work, and checks the signal at this interval.
 */
const LOOK_AGAIN_MS = 1_000
/** Work that cannot begin now is retried after this, doubled every time. */
const PUT_OFF_MS = 1_000
const LONGEST_PUT_OFF_MS = 30_000
/** At shutdown the process waits this long for calls, then aborts: their outcome is unknown. */
const DRAIN_MS = 20_000

interface ImageMaker {
  /** One round: leases waiting tasks, tenants in turn, as far as there is room, and begins them. */
  readonly round: (signal: AbortSignal) => Promise<RoundOutcome>
  /** Waits for running work, and aborts work that takes too long. */
  readonly drain: () => Promise<void>
  /** Tasks that this process is making. */
  readonly making: () => Iterable<string>
}

/** Number of tasks that this process makes in parallel, in all and on each channel. */
class MakingRoom {
  readonly #limits: ImageTaskDeps['imageLimits']
  /** Each task under way, with its family. */
  readonly #underWay = new Map<Promise<void>, string>()
  readonly #byChannel = new Map<string, number>()
  /** Channels by family. */
  readonly #capacity = new Map<string, number>()

  constructor({ imageLimits, channels, imageProviders }: ImageTaskDeps) {
    this.#limits = imageLimits
    for (const { family } of channels.all)
      if (imageProviders.has(family))
        this.#capacity.set(
          family,
          (this.#capacity.get(family) ?? 0) + imageLimits.maxMakingAChannel,
        )
  }

  underWay(): Iterable<Promise<void>> {
    return this.#underWay.keys()
  }

  /** Counts a task of a family until its work is over. */
  hold(work: Promise<void>, family: string): void {
    const done: Promise<void> = work.finally(() => this.#underWay.delete(done))
    this.#underWay.set(done, family)
  }

  take(channelId: string, change: 1 | -1): void {
    this.#byChannel.set(channelId, (this.#byChannel.get(channelId) ?? 0) + change)
  }

  /** Channels at their limit. */
  fullChannels(): ReadonlySet<string> {
    const full = [...this.#byChannel].filter(([, count]) => count >= this.#limits.maxMakingAChannel)
    return new Set(full.map(([id]) => id))
  }

  /**
   * Number of further tasks that can begin, and the families that cannot: their tasks are left
   * alone.
   */
  room(): { readonly limit: number; readonly besides: readonly string[] } {
    const { maxMaking } = this.#limits
    const left = new Map(this.#capacity)
    for (const family of this.#underWay.values()) left.set(family, (left.get(family) ?? 0) - 1)
    const besides = [...left].filter(([, count]) => count <= 0).map(([family]) => family)
    const open = [...left.values()].filter((count) => count > 0)
    // All leased tasks may be of one family. Without any channel, tasks still end by waiting too
    // long.
    const most = this.#capacity.size > 0 && open.length === 0 ? 0 : Math.min(maxMaking, ...open)
    return { limit: Math.min(maxMaking - this.#underWay.size, most), besides }
  }
}

/** Begins waiting tasks; rounds do not wait until they are made. */
export function createImageMaker(deps: ImageTaskDeps, settings: WorkerSettings): ImageMaker {
  const { owner, scale } = settings
  const leases = createTaskLeases(deps, {
    owner,
    lane: 'make',
    leaseMs: LEASE_MS,
    lease: leaseInTurn,
  })
  const breakOff = new AbortController()
  const making = new MakingRoom(deps)
  const putOff = async ({ platformId, attempts }: DuePoll): Promise<void> => {
    const waitMs = putOffMs(attempts) * scale
    await leases.reschedule([{ id: platformId, dueAtMs: deps.clock.nowMs() + waitMs }])
  }

  const workOrPutOff = async (poll: DuePoll): Promise<void> => {
    const { platformId } = poll
    const report = (error: unknown): void => {
      deps.metrics.policyFailures.inc({ policy: 'make-images' })
      deps.logger.warn({ platformId, err: error }, 'work on images aborted')
    }
    try {
      const isPutOff = await begin(deps, making, poll, { scale, signal: breakOff.signal }).catch(
        (error: unknown) => {
          // A begun task ends like the task of a worker that died.
          report(error)
          return 'later'
        },
      )
      if (isPutOff === 'later') await putOff(poll)
      leases.forget([platformId])
    } catch (error) {
      report(error)
      leases.abandon([platformId])
    }
  }

  const run = (poll: DuePoll): void => {
    making.hold(workOrPutOff(poll), poll.family)
  }

  return {
    round: async (signal) => {
      while (making.room().limit <= 0 && !signal.aborted)
        await Promise.race([...making.underWay(), pause(LOOK_AGAIN_MS, signal)])
      const { limit, besides } = making.room()
      if (limit <= 0) return 'idle'
      const nowMs = deps.clock.nowMs()
      const due = await leases.take({ nowMs, limit, besides })
      for (const poll of due) run(poll)
      if (due.length === 0) return 'idle'
      return due.length === limit ? 'more' : 'some'
    },
    drain: () => drain(making.underWay(), breakOff),
    making: leases.ids,
  }
}

/** Begins a task and makes its images. `later`: it was not begun. */
async function begin(
  deps: ImageTaskDeps,
  making: MakingRoom,
  poll: DuePoll,
  times: { readonly scale: number; readonly signal: AbortSignal },
): Promise<'later' | undefined> {
  const lease = (sharer: Sharer, channelQuery: ChannelQuery): ChannelLease | undefined =>
    deps.channels.lease(sharer, channelQuery, making.fullChannels())
  const job = await prepareImages(deps, poll, lease)
  if (job === 'ended') return undefined
  if (job === 'later') return 'later'
  const channelId = job.lease.channel.id
  making.take(channelId, 1)
  try {
    const known = await startImages(deps, job, times.scale)
    if (known === 'later') return 'later'
    if (known === undefined) return undefined
    deps.crashPoint('image.after-start')
    await makeImages(deps, { ...job, known }, times)
    return undefined
  } finally {
    making.take(channelId, -1)
  }
}

/** The pause before a task that could not begin is tried again: doubled with each attempt, and jittered. */
function putOffMs(attempts: number): number {
  const doubled = PUT_OFF_MS * 2 ** Math.min(Math.max(0, attempts - 1), 16)
  return jittered(Math.min(doubled, LONGEST_PUT_OFF_MS))
}

/** Waits for work under way, and after a while breaks it off. */
async function drain(work: Iterable<Promise<void>>, breakOff: AbortController): Promise<void> {
  const patience = new AbortController()
  const all = Promise.all(work).finally(() => patience.abort())
  await Promise.race([all, pause(DRAIN_MS, patience.signal)])
  breakOff.abort()
  await all
}
