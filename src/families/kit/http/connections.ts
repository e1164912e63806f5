import type { Channel } from '../../../app/ports/provider.ts'
import { type Exchange, openExchange } from './exchange.ts'
import { createScrubber, type Scrubber, vendorWords } from './scrubber.ts'

const FAILED_MESSAGE = 'The model service refused the request.'

/** A channel's connections, and everything that all its calls share. */
export interface ChannelConnection {
  readonly exchange: Exchange
  /** Host of the address, with its port if that is not the default. */
  readonly host: string
  /** Path of the address, without a slash at its end. */
  readonly basePath: string
  readonly headers: Readonly<Record<string, string>>
  readonly scrub: Scrubber
}

interface ChannelConnections {
  readonly of: (channel: Channel) => ChannelConnection
  /** Closes every connection; running requests fail. */
  readonly close: () => Promise<void>
}

/** One connection pool per channel, opened when it is first used. */
export function createConnections(options: {
  readonly headers: (channel: Channel) => Readonly<Record<string, string>>
  /** Maximum number of sockets of a channel. */
  readonly connections: (channel: Channel) => number
  /** The base URL of the requests; by default that of the channel. */
  readonly address?: (channel: Channel) => string
  /** Message if upstream's has no part that callers may see. */
  readonly fallback?: string
  /** The outermost members of requests, whose places messages may name. */
  readonly members?: readonly string[]
}): ChannelConnections {
  const { address = ({ baseUrl }: Channel) => baseUrl, fallback = FAILED_MESSAGE } = options
  const lines = new Map<string, ChannelConnection>()
  const open = (channel: Channel): ChannelConnection => {
    const { baseUrl, library, models, redactWords } = channel
    const hosts = library === undefined ? [baseUrl] : [baseUrl, library.baseUrl]
    const url = new URL(address(channel))
    return {
      host: url.host,
      exchange: openExchange(url.origin, options.connections(channel)),
      basePath: url.pathname.replace(/(?<!\/)\/+$/, ''),
      headers: options.headers(channel),
      scrub: createScrubber({
        modelNames: Object.fromEntries(
          Object.entries(models).map(([external, upstream]) => [upstream, external]),
        ),
        words: vendorWords(hosts, Object.values(models), redactWords),
        fallback,
        members: options.members,
      }),
    }
  }
  return {
    of: (channel) => {
      const key = `${channel.id}\n${address(channel)}`
      const line = lines.get(key) ?? open(channel)
      lines.set(key, line)
      return line
    },
    close: async () => {
      const opened = [...lines.values()]
      lines.clear()
      await Promise.all(opened.map((line) => line.exchange.close()))
    },
  }
}

/** Headers with the credential of a channel; none where it has no credential. */
export type CredentialHeaders = (
  channel: Pick<Channel, 'credential' | 'credentialHeader'>,
) => Readonly<Record<string, string>>

/** `authorization` with a scheme, or the header that the channel names, without one. */
const authorizationBy =
  (scheme: string): CredentialHeaders =>
  ({ credential, credentialHeader }) => {
    if (credential === undefined) return {}
    return credentialHeader === undefined
      ? { authorization: `${scheme} ${credential}` }
      : { [credentialHeader]: credential }
  }

export const bearerHeaders = authorizationBy('Bearer')
export const tokenHeaders = authorizationBy('Token')

/** The header that native generation takes its key in, or the one the channel names. */
export const keyHeaders: CredentialHeaders = ({ credential, credentialHeader }) =>
  credential === undefined ? {} : { [credentialHeader ?? 'x-goog-api-key']: credential }
