import { text } from 'node:stream/consumers'

/**
 * The load generator for callers of many tokens: each request takes one by chance. Reads `{ url, connections, seconds,
 * headers, body, tokens }` from stdin and prints autocannon's result.
 *
 *     node token-client.js AUTOCANNON < order.json
 */
interface Request {
  readonly headers: Readonly<Record<string, string>>
}

type Autocannon = (options: {
  readonly url: string
  readonly connections: number
  readonly duration: number
  readonly requests: readonly {
    readonly method: 'POST'
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly setupRequest: (request: Request) => Request
  }[]
}) => Promise<object>

interface Order {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly tokens: readonly string[]
}

const { url, connections, seconds, headers, body, tokens } = JSON.parse(
  await text(process.stdin),
) as Order
const { default: autocannon } = (await import(process.argv[2] ?? '')) as {
  readonly default: Autocannon
}
const result = await autocannon({
  url,
  connections,
  duration: seconds,
  requests: [
    {
      method: 'POST',
      headers,
      body,
      setupRequest: (request) => {
        const token = tokens[Math.floor(Math.random() * tokens.length)] ?? ''
        return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }
      },
    },
  ],
})
process.stdout.write(JSON.stringify(result))
