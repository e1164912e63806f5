import { readFileSync } from 'node:fs'
import { Pool } from 'pg'
import { crashPointFrom } from '../../../../../src/app/crash-points.ts'
import { createStatements } from '../../../../../src/app/finance/statements/statements.ts'
import { buildTree } from '../../../../../src/app/finance/statements/tree.ts'
import type { MonthOf } from '../../../../../src/app/finance/statements/types.ts'
import { createEventLog } from '../../../../../src/eventlog/log/client.ts'
import { silentLog } from '../../../../../src/kernel/log.ts'
import { noteSigner } from '../../../../../src/kernel/signed-note.ts'

/** A process that closes a month, and dies at a point on the way. */
interface Order {
  readonly eventStoreUrl: string
  readonly namespace: string
  readonly databaseUrl: string
  readonly crashAt: string
  readonly nowMs: number
  readonly month: MonthOf
}

const order = JSON.parse(readFileSync(0, 'utf8')) as Order
const pool = new Pool({ connectionString: order.databaseUrl })
const statements = createStatements({
  db: pool,
  log: createEventLog({ url: order.eventStoreUrl, namespace: order.namespace }),
  clock: { nowMs: () => order.nowMs },
  signer: noteSigner('gateway.example/statements', Buffer.alloc(32, 7)),
  issuerName: 'gateway.example',
  buildTree: (job) => buildTree(pool, job),
  crashPoint: crashPointFrom(order.crashAt),
  logger: silentLog,
})
await statements.close(order.month, { correlationId: 'child', actor: 'tests', by: undefined })
process.exit(0)
