import { readFileSync } from 'node:fs'
import { Pool } from 'pg'
import { crashPointFrom } from '../../../../src/app/crash-points.ts'
import { createEventLog } from '../../../../src/eventlog/log/client.ts'
import { cloneIn, mediaOf, sampleIn } from './media.ts'

/** A process that uploads a sample and clones a voice of it, and says that it did. */
interface Order {
  readonly eventStoreUrl: string
  readonly namespace: string
  readonly databaseUrl: string
  readonly sandboxUrl: string
  readonly crashAt: string
  readonly voiceId: string
  readonly text: string
}

const order = JSON.parse(readFileSync(0, 'utf8')) as Order
const media = mediaOf({
  pool: new Pool({ connectionString: order.databaseUrl, pipeline: true }),
  log: createEventLog({ url: order.eventStoreUrl, namespace: order.namespace }),
  sandboxUrl: order.sandboxUrl,
  crashPoint: crashPointFrom(order.crashAt),
})
await cloneIn(media, await sampleIn(media), order.voiceId, order.text)
process.stdout.write('cloned\n')
process.exit(0)
