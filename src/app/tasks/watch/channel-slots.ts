import { pause } from '../../../kernel/pause.ts'

/** Time until the next check for a free place. */
const LOOK_AGAIN_MS = 20

/** Running work per channel, limited so that no channel takes all places. */
interface Places {
  readonly free: (channelId: string) => boolean
  /** Runs the work; a failure is only reported. */
  readonly take: (channelId: string, work: () => Promise<void>) => void
  /** Waits until some channel has a free place, or the signal aborts. */
  readonly someFree: (signal: AbortSignal) => Promise<void>
  readonly drain: () => Promise<void>
}

export function createPlaces(
  perChannel: number,
  channels: number,
  onFailure: (channelId: string, error: unknown) => void,
): Places {
  const taken = new Map<string, number>()
  const underWay = new Set<Promise<void>>()
  return {
    free: (channelId) => (taken.get(channelId) ?? 0) < perChannel,
    take: (channelId, work) => {
      taken.set(channelId, (taken.get(channelId) ?? 0) + 1)
      const done: Promise<void> = work()
        .catch((error: unknown) => onFailure(channelId, error))
        .finally(() => {
          underWay.delete(done)
          const left = (taken.get(channelId) ?? 1) - 1
          if (left === 0) taken.delete(channelId)
          else taken.set(channelId, left)
        })
      underWay.add(done)
    },
    someFree: async (signal) => {
      while (underWay.size >= perChannel * Math.max(1, channels) && !signal.aborted)
        await pause(LOOK_AGAIN_MS, signal)
    },
    drain: async () => {
      await Promise.all(underWay)
    },
  }
}
