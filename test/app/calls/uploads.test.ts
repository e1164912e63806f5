import { once } from 'node:events'
import { pino } from 'pino'
import t from 'tap'
import { uploadDecider } from '../../../src/domain/upload/decider.ts'
import type { UploadEvent } from '../../../src/domain/upload/events.ts'
import { uploadStream } from '../../../src/domain/upload/events.ts'
import { ProviderError } from '../../../src/app/ports/provider.ts'
import { until } from '../../helpers/eventually.ts'
import { startWorld } from '../support/world.ts'
import { mediaOf, sampleIn } from './support/media.ts'

const { pool, log, sandbox } = await startWorld(t)
/** How much of the file is read before the account answers. */
let takes = Infinity
let taken = 0
const logged: string[] = []
const media = mediaOf({
  logger: pino({}, { write: (line: string) => void logged.push(line) }),
  pool,
  log,
  sandboxUrl: sandbox.url,
  crashPoint: () => undefined,
  upload: async (_channel, { body }) => {
    taken = 0
    const pieces = body[Symbol.asyncIterator]()
    for (; taken < takes; taken += 1) if ((await pieces.next()).done === true) break
    return { upstreamFileId: '9223372036854775807' }
  },
})
t.teardown(() => media.stop())

t.test('a file is recorded as an upload once the account has received all of it', async (t) => {
  takes = Infinity
  const fileId = await sampleIn(media)
  const events = (await log.readStream(uploadStream(fileId))) as readonly UploadEvent[]
  const state = events.reduce(uploadDecider.evolve, uploadDecider.initial)
  t.match(state, { file: { upstreamFileId: '9223372036854775807', sizeBytes: 23 } })
  t.equal(taken, 1)
})

t.test('an upload answered before all bytes were sent fails as malformed', async (t) => {
  const before = await log.endPosition()
  for (const early of [0, 1]) {
    takes = early
    await t.rejects(sampleIn(media), { code: 'upstream_malformed' }, `after ${early} pieces`)
  }
  t.equal(await log.endPosition(), before, 'nothing was written')
  const lines = logged.map((line): unknown => JSON.parse(line))
  const line = { msg: 'upload failed upstream', channelId: /./, kind: 'malformed' }
  t.match(lines, [line, line], 'the operator reads which account failed')
})

t.test('an upload that the stop of the process cuts off says so', async (t) => {
  let hasBegun = false
  const stopping = mediaOf({
    pool,
    log,
    sandboxUrl: sandbox.url,
    crashPoint: () => undefined,
    upload: async (_channel, _media, { signal }) => {
      hasBegun = true
      await once(signal, 'abort')
      throw new ProviderError('timeout', 'unknown', 'no answer', { endedByGateway: true })
    },
  })
  const cutOff = t.rejects(sampleIn(stopping), { code: 'call_cut_off' })
  await until(() => hasBegun)
  await stopping.stop(0)
  await cutOff
})
