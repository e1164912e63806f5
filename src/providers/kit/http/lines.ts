import type { Channel } from '../../../app/ports.ts'
import { type Exchange, openExchange } from './exchange.ts'
import { createScrubber, type Scrubber, vendorWords } from './scrub.ts'

const FAILED_MESSAGE = 'The model service refused the request.'

/** A channel's connections, and what is the same for all its calls. */
export interface Line {
  readonly exchange: Exchange
  /** Path of the channel's base URL, without a slash at its end. */
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
}): Lines {
  const lines = new Map<string, Line>()
  const open = (channel: Channel): Line => {
    const url = new URL(channel.baseUrl)
    return {
      exchange: openExchange(url.origin, options.connections(channel)),
      basePath: url.pathname.replace(/\/+$/, ''),
      headers: options.headers(channel),
      scrub: createScrubber({
        modelNames: Object.fromEntries(
          Object.entries(channel.models).map(([external, upstream]) => [upstream, external]),
        ),
        words: vendorWords(channel.baseUrl, Object.values(channel.models), channel.redactWords),
        fallback: FAILED_MESSAGE,
      }),
    }
  }
  return {
    of: (channel) => {
      const key = `${channel.id}\n${channel.baseUrl}`
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
