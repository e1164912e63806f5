import { connect } from 'node:net'
import { EventStoreDBClient } from '@eventstore/db-client'
import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import sharedGrpc from '@eventstore/db-client/generated/shared_pb.js'
import { credentials, Metadata } from '@grpc/grpc-js'
import { withTimeout } from '../../kernel/pause.ts'
import { owned } from '../../platform/owned.ts'
import type { ClientInternals } from './client-internals.ts'
import { reasonInWords } from './errors.ts'

/** Why the event store cannot be reached, in words for the operator. */

const ASK_TIMEOUT_MS = 2_000
/** Another connection of this process has just failed to reach the host, and has the reason. */
const NO_REASON = /Last error: null/
/** Hosts of a connection string that are asked at most. */
const MAX_HOSTS = 8

/** The connection string of each host; none for one host, whose calls fail with their reason. */
function hostUrls(url: string): readonly string[] {
  const [, discovers, account = '', hosts = '', rest = ''] =
    /^esdb(\+discover)?:\/\/([^/?]*@)?([^/?]+)(.*)$/.exec(url) ?? []
  const list = hosts.split(',')
  if (discovers === undefined && list.length < 2) return []
  return list.slice(0, MAX_HOSTS).map((host) => `esdb://${account}${host}${rest}`)
}

/**
 * Asks each host of a cluster's connection string, after the library has found no node and dropped
 * the reasons. Undefined where nothing is to be said. Never rejects.
 */
export async function whyUndiscovered(url: string): Promise<string | undefined> {
  const found = await Promise.all(hostUrls(url).map(whyUnreachable))
  return found.length === 0 ? undefined : [...new Set(found)].join('; ')
}

async function whyUnreachable(url: string): Promise<string> {
  try {
    const client = EventStoreDBClient.connectionString(url) as unknown as ClientInternals
    const channel = await client.getChannel()
    try {
      const failure = await askForMembers(channel)
      if (failure !== undefined && NO_REASON.test(failure))
        return reasonInWords((await connectFailure(await client.resolveUri())) ?? failure)
      return failure === undefined ? 'no node of the cluster leads' : reasonInWords(failure)
    } finally {
      await client.dispose()
    }
  } catch (error) {
    return reasonInWords(error instanceof Error ? error.message : String(error))
  }
}

type ChannelOf = Awaited<ReturnType<ClientInternals['getChannel']>>

/** The message of the failure; undefined where the host answers. */
function askForMembers(channelOverride: ChannelOf): Promise<string | undefined> {
  // The credentials are those of the channel.
  const gossip = new gossipGrpc.GossipClient('', credentials.createInsecure(), { channelOverride })
  const asked = new Promise<string | undefined>((resolve) => {
    gossip.read(new sharedGrpc.Empty(), new Metadata(), (error) => resolve(error?.message))
  })
  return withTimeout(ASK_TIMEOUT_MS, asked, () => 'it does not answer')
}

/** Why no connection can be opened to `host:port`; undefined where one can. */
function connectFailure(uri: string): Promise<string | undefined> {
  const { hostname: host, port } = new URL(`tcp://${uri}`)
  return new Promise((resolve) => {
    const socket = owned(connect({ host, port: Number(port), timeout: ASK_TIMEOUT_MS }))
    const end = (failure?: string): void => {
      socket.destroy()
      resolve(failure)
    }
    socket.once('connect', () => end())
    socket.once('timeout', () => end(`${uri} does not answer`))
    socket.on('error', ({ message }) => end(message))
  })
}
