import type { Clock } from '../../kernel/clock.ts'
import { createPace, type Pace } from './pace.ts'
import type { Channel } from '../ports/provider.ts'

/** Concurrent queries of one channel. */
const QUERIES_AT_ONCE = 8
/** Queries that may start together after a pause. */
const BURST = 4

/** The limit on queries upstream, shared by the policies and the callers' refreshes. */
export interface ChannelPaces {
  readonly of: (channel: Channel) => Pace
}

/** `perSecond` applies to channels without their own limit. */
export function createChannelPaces(perSecond: number, clock: Clock): ChannelPaces {
  const paces = new Map<string, Pace>()
  return {
    of: (channel) => {
      const known = paces.get(channel.id)
      if (known !== undefined) return known
      const made = createPace(
        {
          concurrent: QUERIES_AT_ONCE,
          perSecond: channel.maxQueriesPerSecond ?? perSecond,
          burst: BURST,
        },
        clock,
      )
      paces.set(channel.id, made)
      return made
    },
  }
}
