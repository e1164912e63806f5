import { connectivityState, Metadata, status, type Channel } from '@grpc/grpc-js'
import type { CallChannel, ClientInternals } from './client-internals.ts'
import { monotonicClock } from '../../kernel/clock.ts'
import { pause } from '../../kernel/pause.ts'

/** Between two looks for a leader. */
const PAUSE_MS = 100
/** The library drops the reason of a failed discovery, so that the hosts are asked for it. */
const ASK_WHY_EVERY_MS = 5_000
/** The library accepts whole seconds only; it skips a node that takes longer. */
const GOSSIP_TIMEOUT_S = 2

/**
 * The URL with the options of the gateway's own discovery: the library tries the hosts once and
 * fails, and the gateway retries. Options that come later in a URL win over those before them.
 */
export function withDiscovery(url: string): string {
  const options = [
    'maxDiscoverAttempts=1',
    ...(url.includes('gossipTimeout') ? [] : [`gossipTimeout=${GOSSIP_TIMEOUT_S}`]),
  ]
  return `${url}${url.includes('?') ? '&' : '?'}${options.join('&')}`
}

/**
 * Repeats discovery until a node is found, however long the cluster has no leader. The library
 * gives up after some tries and then rejects a promise without a handler, which ends the process;
 * every call has its own deadline, so the limit is not needed. One discovery runs at a time.
 */
export function discoverWithoutEnd(
  client: ClientInternals,
  why: () => Promise<string | undefined> = () => Promise.resolve(undefined),
): {
  /** Why no node is found at the moment, once that is known. */
  readonly reason: () => string | undefined
  readonly stop: () => void
} {
  const open = client.createChannel
  let stopped = false
  let reason: string | undefined
  let askAgainMs = 0
  let looking: Promise<Channel> | undefined
  const ask = async (): Promise<void> => {
    if (monotonicClock.nowMs() < askAgainMs) return
    askAgainMs = monotonicClock.nowMs() + ASK_WHY_EVERY_MS
    const found = await why()
    if (looking !== undefined) reason = found
  }
  const look = async (): Promise<Channel> => {
    for (;;) {
      try {
        const channel = await open()
        reason = undefined
        return channel
      } catch {
        void ask()
        // After a stop the promise stays pending: no caller would handle its rejection.
        if (stopped) return new Promise(() => undefined)
        await pause(PAUSE_MS)
      }
    }
  }
  client.createChannel = () => {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }
  return {
    reason: () => reason,
    stop: () => {
      stopped = true
    },
  }
}

/** Whether a call on this channel should be repeated because the leader is another node now. */
export type LeaderCheck = (channel: CallChannel) => Promise<boolean>

/**
 * Called while a call gets no answer: connects to the leader if that is another node now. A frozen
 * node closes no connection and ends no call; the library would notice it only by its keepalive,
 * after 15 s. Returns false where the leader is unknown. Concurrent calls share one check.
 */
export function createLeaderCheck(client: ClientInternals): LeaderCheck {
  let looking: Promise<void> | undefined
  const look = async (): Promise<void> => {
    const current = await client.getChannel()
    let leader: string
    try {
      leader = await client.resolveUri()
    } catch {
      // No node leads: the library has dropped the channel, and discovery continues until one
      // leads.
      current.close()
      return
    }
    if (addressOf(current) !== leader)
      await client.handleError({ getChannel: () => current }, notLeader(leader))
  }
  const isGivenUp = (channel: CallChannel) =>
    channel.getConnectivityState(false) === connectivityState.SHUTDOWN
  return async (channel) => {
    if (isGivenUp(channel)) return true
    looking ??= look().finally(() => {
      looking = undefined
    })
    await looking.catch(() => undefined)
    return isGivenUp(channel)
  }
}

/** `host:port` of a target such as `dns:host:port`; a socket's target is its address. */
function addressOf(channel: CallChannel): string {
  return channel.getTarget().replace(/^(?!unix:)[a-z0-9]+:(?:\/\/[^/]*\/)?/, '')
}

/** The answer of a node that does not lead, as an error of the library. */
function notLeader(leader: string): Error {
  const colon = leader.lastIndexOf(':')
  const metadata = new Metadata()
  metadata.set('exception', 'not-leader')
  metadata.set('leader-endpoint-host', leader.slice(0, colon))
  metadata.set('leader-endpoint-port', leader.slice(colon + 1))
  return Object.assign(new Error('the node is silent and another one leads'), {
    code: status.NOT_FOUND,
    details: '',
    metadata,
  })
}
