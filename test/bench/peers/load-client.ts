import { text } from 'node:stream/consumers'

/**
 * The load generator that asks as often as it is answered: autocannon, of whose requests each has one of the
 * tokens by chance. Reads a `LoadOrder` from stdin and prints autocannon's result.
 *
 *     node load-client.js AUTOCANNON < order.json
 */
export interface LoadOrder {
  readonly url: string
  readonly connections: number
  /** Seconds of it, or how many requests. */
  readonly until: { readonly duration: number } | { readonly amount: number }
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Without any, `headers` are sent as they are. */
  readonly tokens?: readonly string[]
}

interface Request {
  readonly headers: Readonly<Record<string, string>>
}

type Autocannon = (options: {
  readonly url: string
  readonly connections: number
  readonly duration?: number
  readonly amount?: number
  readonly requests: readonly {
    readonly method: 'POST'
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly setupRequest?: (request: Request) => Request
  }[]
}) => Promise<object>

const order = JSON.parse(await text(process.stdin)) as LoadOrder
const { url, connections, until, headers, body, tokens } = order
const { default: autocannon } = (await import(process.argv[2] ?? '')) as {
  readonly default: Autocannon
}
const ofTokens = (known: readonly string[]) => ({
  setupRequest: (request: Request): Request => {
    const token = known[Math.floor(Math.random() * known.length)] ?? ''
    return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }
  },
})
const request = { method: 'POST', headers, body } as const
const result = await autocannon({
  url,
  connections,
  ...until,
  requests: [{ ...request, ...(tokens === undefined ? {} : ofTokens(tokens)) }],
})
process.stdout.write(JSON.stringify(result))
