import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { Pool } from 'pg'
import type { Principal } from '../../../../src/app/access/principal.ts'
import { crashPointFrom } from '../../../../src/app/crash-points.ts'
import { createFileUseCases } from '../../../../src/app/files/use-cases.ts'
import { createEventLog } from '../../../../src/eventlog/log/client.ts'
import { createUploadQuota, defaultUploadLimits } from '../../../../src/app/files/uploads/quota.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { openLocalStore } from '../../../../src/storage/local/store.ts'
import { namespacedObjects } from '../../../../src/storage/namespaced-objects.ts'

/** A process that uploads a file and deletes it, and dies at a point on the way. */
interface Order {
  readonly eventStoreUrl: string
  readonly namespace: string
  readonly databaseUrl: string
  readonly directory: string
  readonly crashAt: string
  readonly principal: Principal
}

const order = JSON.parse(readFileSync(0, 'utf8')) as Order
const { namespace } = order
const place = await openLocalStore({
  clock: systemClock,
  directory: order.directory,
  secret: 'a secret',
  baseUrl: () => undefined,
})
const pool = new Pool({ connectionString: order.databaseUrl })
const files = createFileUseCases({
  pool,
  log: createEventLog({ url: order.eventStoreUrl, namespace: order.namespace }),
  store: namespacedObjects(place, { namespace, startedAtMs: Date.now() }).store,
  quota: createUploadQuota({
    pool,
    readModels: { requireCurrent: () => Promise.resolve() },
    limits: defaultUploadLimits,
  }),
  throttle: { request: () => Promise.resolve(undefined) },
  readModels: { requireCurrent: () => Promise.resolve() },
  clock: systemClock,
  logger: silentLog,
  crashPoint: crashPointFrom(order.crashAt),
})
const { principal } = order
const kept = await files.keep(order.principal, Readable.from([Buffer.from(order.crashAt)]))
const facts = { purpose: 'vision', filename: order.crashAt } as const
const { fileId } = await files.record(kept, { principal, requestId: 'req_upload', ...facts })
await files.remove({ principal, requestId: 'req_delete', fileId })
process.exit(0)
