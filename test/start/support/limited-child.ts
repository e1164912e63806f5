import type { AddressInfo } from 'node:net'
import { readyOperations } from '../../api/support/operations.ts'
import { loadConfig } from '../../../src/config.ts'
import { chooseConnectionBounds } from '../../../src/start/open-files.ts'
import { startApp } from '../../api/support/app.ts'

/** Both ports of a gateway over parts in memory, with the bounds that the limit of this process leaves. */
const { bounds } = chooseConnectionBounds(loadConfig({}))
const { app } = await startApp({ limits: { connections: bounds }, operationsElsewhere: true })
const operations = await readyOperations()
for (const each of [app, operations]) await each.listen({ port: 0, host: '127.0.0.1' })
const portOf = (server: typeof app): number => (server.server.address() as AddressInfo).port
process.stdout.write(
  `${JSON.stringify({ port: portOf(app), operationsPort: portOf(operations), all: bounds.all })}\n`,
)
process.stdin.resume().on('end', () => process.exit())
