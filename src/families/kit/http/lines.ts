import type { Channel } from '../../../app/ports.ts'
import { type Exchange, openExchange } from './exchange.ts'
import { createScrubber, type Scrubber, vendorWords } from './scrub.ts'

const FAILED_MESSAGE = 'The model service refused the request.'

/** A channel's connections, and what is the same for all its calls. */
export interface Line {
  readonly exchange: Exchange
  /** Host of the address, with its port where it is not the usual one. */
  readonly host: string
  /** Path of the address, without a slash at its end. */
  readonly basePath: string
  readonly headers: Readonly<Record<string, string>>
  readonly scrub: Scrubber
}

export interface Lines {
  readonly of: (channel: Channel) => Line
  /** Closes every connection; what is in flight fails. */
  readonly close: () => Promise<void>
}

/** One connection pool per channel, opened when it is first used. */
export function createLines(options: {
  readonly headers: (channel: Channel) => Readonly<Record<string, string>>
  /** Sockets a channel may need at once. */
  readonly connections: (channel: Channel) => number
  /** Where it is asked; by default at its base URL. */
  readonly address?: (channel: Channel) => string
  /** What is said where upstream's own message has nothing that may be told. */
  readonly fallback?: string
}): Lines {
  const { address = ({ baseUrl }: Channel) => baseUrl, fallback = FAILED_MESSAGE } = options
  const lines = new Map<string, Line>()
  const open = (channel: Channel): Line => {
    const { baseUrl, library, models, redactWords } = channel
    const hosts = library === undefined ? [baseUrl] : [baseUrl, library.baseUrl]
    const url = new URL(address(channel))
    return {
      host: url.host,
      exchange: openExchange(url.origin, options.connections(channel)),
      basePath: url.pathname.replace(/\/+$/, ''),
      headers: options.headers(channel),
      scrub: createScrubber({
        modelNames: Object.fromEntries(
          Object.entries(models).map(([external, upstream]) => [upstream, external]),
        ),
        words: vendorWords(hosts, Object.values(models), redactWords),
        fallback,
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
