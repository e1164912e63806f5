import type { Channel } from '@grpc/grpc-js'
import type { ClientInternals } from './client-internals.ts'
import { pause } from './backoff.ts'

/** Between two looks for a leader. */
const PAUSE_MS = 100
/** The library asks in whole seconds; a node that takes longer is passed over for the next one. */
const GOSSIP_TIMEOUT_S = 2

/**
 * The URL with what our own discovery needs: the library looks once through the hosts and says so,
 * and we look again. Options that come later in a URL win over those before them.
 */
export function withDiscovery(url: string): string {
  const options = [
    'maxDiscoverAttempts=1',
    ...(url.includes('gossipTimeout') ? [] : [`gossipTimeout=${GOSSIP_TIMEOUT_S}`]),
  ]
  return `${url}${url.includes('?') ? '&' : '?'}${options.join('&')}`
}

/**
 * Lets discovery go on until a node is found, however long the cluster has no leader. The library
 * gives up after some tries and then rejects a promise that nobody awaits, which ends the process;
 * every call has a deadline of its own, so nobody needs that. One discovery runs at a time.
 */
export function discoverWithoutEnd(client: ClientInternals): { readonly stop: () => void } {
  const open = client.createChannel
  let stopped = false
  let looking: Promise<Channel> | undefined
  const look = async (): Promise<Channel> => {
    for (;;) {
      try {
        return await open()
      } catch {
        // Whoever no longer wants a channel is not told: there is nobody to catch it.
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
    stop: () => {
      stopped = true
    },
  }
}
