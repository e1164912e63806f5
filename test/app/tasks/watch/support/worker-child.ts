import { readFileSync } from 'node:fs'
import { Pool } from 'pg'
import type { Channel } from '../../../../../src/app/ports/provider.ts'
import { createEventLog } from '../../../../../src/eventlog/log/client.ts'
import { makeReplica } from '../../../support/world.ts'

/** A process that runs the policies until it is killed. */
export interface WorkerOrder {
  readonly owner: string
  readonly eventStoreUrl: string
  readonly namespace: string
  readonly databaseUrl: string
  readonly channels: readonly Channel[]
}

const order = JSON.parse(readFileSync(0, 'utf8')) as WorkerOrder
const { owner, channels } = order
const pool = new Pool({ connectionString: order.databaseUrl, pipeline: true })
pool.on('error', () => undefined)
const log = createEventLog({ url: order.eventStoreUrl, namespace: order.namespace })
makeReplica({ pool, log, channels }, {}, owner).startPolicies()
