import { Pool } from 'undici'

/**
 * A process that sends the same requests over and over on many connections, from the message `begin` until
 * `end`; then it says how often it got each status. Its argument: the gateway's URL, and what each
 * connection sends in its turn, as JSON.
 */

interface Sent {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}
interface Noise {
  readonly url: string
  readonly connections: number
  readonly requests: readonly Sent[]
}

const { url, connections, requests } = JSON.parse(process.argv[2] ?? '') as Noise
const pool = new Pool(url, { connections, pipelining: 1 })
const state = { isOn: false }
let loops: readonly Promise<void>[] = []
const statuses: Record<string, number> = {}

async function loop(at: number): Promise<void> {
  const sent = requests[at % requests.length]
  if (sent === undefined) return
  while (state.isOn) {
    const { method, path, headers, body = null } = sent
    const answer = await pool.request({ method, path, headers, body })
    await answer.body.dump()
    statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1
  }
}

process.on('message', (asked) => {
  state.isOn = asked === 'begin'
  if (state.isOn) loops = Array.from({ length: connections }, (_none, at) => loop(at))
  else
    void Promise.all(loops).then(() => {
      process.send?.({ ...statuses })
      for (const status of Object.keys(statuses)) delete statuses[status]
    })
})
process.stdout.write(`${JSON.stringify({ event: 'ready', url })}\n`)
