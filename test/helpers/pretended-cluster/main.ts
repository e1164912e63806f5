/**
 * Entry point of a pretended cluster, run by tests as a child process.
 *
 * `main.ts --data DIR [--port N]... [--server-version 23.10|24.10|25.0]`
 *
 * One member for each port. Prints one JSON line
 * `{"event":"ready","url":"esdb://…"}` on stdout once all serve; obeys orders (see
 * orders.ts) that come as IPC messages; stops in order on SIGTERM, SIGINT or loss of its channel.
 */

import { parseArgs } from 'node:util'
import {
  announceFailure,
  announceReady,
  logLine,
  onStopRequest,
} from '../../../infra/embedded/child.ts'
import { ServerLog } from '../../../infra/embedded/eventstore/log.ts'
import {
  DEFAULT_SERVER_VERSION,
  parseServerVersion,
} from '../../../infra/embedded/eventstore/versions.ts'
import { parseOrder } from './orders.ts'
import { PretendedCluster } from './pretended-cluster.ts'

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Obeys one order after the other, and answers each. */
function takeOrders(cluster: PretendedCluster): void {
  let last: Promise<void> = Promise.resolve()
  process.on('message', (message: unknown) => {
    last = last.then(async () => {
      const id = idOf(message)
      try {
        const parsed = parseOrder(message)
        if (parsed !== undefined) await cluster.obey(parsed.order)
        process.send?.({ done: id })
      } catch (error) {
        process.send?.({ done: id, reason: reasonOf(error) })
      }
    })
  })
}

function idOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'id' in message ? message.id : undefined
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      port: { type: 'string', multiple: true, default: [] },
      'server-version': { type: 'string', default: DEFAULT_SERVER_VERSION },
    },
  })
  if (values.data === undefined) throw new TypeError('--data DIR is required')
  const version = parseServerVersion(values['server-version'])
  const log = await ServerLog.open(values.data, (event, detail) => {
    logLine('error', event, { event, detail })
  })
  const cluster = await PretendedCluster.start(log, version, values.port.map(Number))
  takeOrders(cluster)
  onStopRequest(() => {
    cluster
      .stop()
      .then(() => log.close())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          logLine('error', reasonOf(error))
          process.exit(1)
        },
      )
  })
  const hosts = cluster.ports.map((port) => `127.0.0.1:${port}`).join(',')
  announceReady(`esdb://${hosts}?tls=false`)
}

main().catch((error: unknown) => {
  announceFailure(reasonOf(error))
  process.exit(1)
})
