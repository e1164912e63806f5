import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { journalStream } from '../../src/domain/call/events.ts'
import { REJECTED_FILE } from '../../src/eventlog/journal/rejected-records.ts'
import { encodeRecord } from '../../src/eventlog/journal/spool-record.ts'
import { eventId } from '../../src/kernel/ids.ts'
import { callFailed, metadataOf } from '../eventlog/support/sample-events.ts'
import { startEventStore, testEventLog } from '../helpers/eventstore.ts'
import { acquireGatewayDatabase } from '../helpers/postgres.ts'
import { tollgate } from './support/commands.ts'

const server = await startEventStore()
t.teardown(() => server.stop())
const { log, close, namespace } = await testEventLog({ server })
t.teardown(close)
const database = await acquireGatewayDatabase()
t.teardown(() => database.drop())
const dataDir = t.testdir()
const env = {
  EVENTSTORE_URL: server.url,
  DATABASE_URL: database.url,
  EVENTSTORE_NAMESPACE: namespace,
  DATA_DIR: dataDir,
  MARKER_SECRET: 'a marker secret of the tests',
}
const spool = (...args: readonly string[]) => tollgate(['spool', ...args], env)
const events = ['call_1', 'call_2', 'call_3'].map((callId) => ({
  ...callFailed(callId),
  id: eventId('journal', callId, 0),
  metadata: metadataOf(callId),
}))
await mkdir(join(dataDir, 'spool'))
const batch = { stream: journalStream('I', 0), expected: 'no_stream', events } as const
await writeFile(join(dataDir, 'spool', REJECTED_FILE), encodeRecord(batch, 1_767_323_100_000))
const listed = async (): Promise<readonly { callId: string }[]> => {
  const { code, stdout } = await spool('list', '--json')
  t.equal(code, 0)
  return (JSON.parse(stdout) as { items: readonly { callId: string }[] }).items
}

t.test('refused settlements are listed, settled and written off, each once', async (t) => {
  t.match(await spool('list'), {
    code: 0,
    stdout: /2026-01-02T03:05:00.000Z\s+call_1\s+ten_1\s+text-1/,
  })
  t.match(await spool('retry'), { code: 2, stderr: /give ids/ })
  t.match(await spool('retry', 'call_9'), {
    code: 1,
    stderr: /no refused settlement has the id call_9/,
  })
  t.match(await spool('resolve', 'call_1', '--reason', ' '), { code: 2, stderr: /--reason/ })

  t.match(await spool('retry', 'call_1'), { code: 0, stdout: /it is in the log now/ })
  t.match(await spool('retry', 'call_1', '--json'), { code: 0, stdout: /"before":true/ })
  t.match(await spool('resolve', 'call_1', '--reason', 'no'), {
    code: 1,
    stdout: /already in the log/,
  })
  const given = await spool('resolve', 'call_2', '--reason', 'ticket 4711', '--actor', 'Ada L.')
  t.match(given, { code: 0, stdout: /call_2: it is given up: ticket 4711/ })
  const again = await spool('resolve', 'call_2', '--reason', 'another', '--actor', 'Bob')
  t.match(again, { code: 0, stdout: /given up before: ticket 4711/ })
  t.match(await spool('retry', 'call_2'), { code: 1, stdout: /given up before/ })
  t.match(await listed(), [{ callId: 'call_3' }])
  t.match(await spool('retry', '--all'), { code: 0 })
  t.same(await listed(), [])

  const written: string[] = []
  for await (const { type, metadata } of log.readAll())
    written.push(metadata.actor === undefined ? type : `${type} by ${metadata.actor}`)
  t.same(written, ['CallFailed', 'CallWrittenOff by Ada L.', 'CallFailed'])
})

t.test('a damaged record is listed with its readable parts', async (t) => {
  const event = {
    ...callFailed('call_8'),
    id: eventId('journal', 'call_8', 0),
    metadata: metadataOf('call_8'),
  }
  const other = { stream: journalStream('J', 0), expected: 'no_stream', events: [event] } as const
  const record = encodeRecord(other, 1_767_323_100_000).toString()
  const file = `J-000001.spool.corrupt-0123456789abcdef`
  await writeFile(join(dataDir, 'spool', file), record.replace('upstream said', 'upstream xaid'))
  await writeFile(join(dataDir, 'spool', `${file}0`), 'nothing of it')
  t.match(await spool('list'), {
    code: 0,
    stdout: new RegExp(String.raw`${file} +\d+ +call_8 +ten_1 +text-1 +\? +\?\n${file}0 +13 +\?`),
  })
  const { stdout } = await spool('list', '--json')
  t.match(JSON.parse(stdout), {
    items: [],
    damaged: [
      {
        file,
        sizeBytes: record.length,
        events: [{ type: 'CallFailed', callId: 'call_8', tenantId: 'ten_1' }],
      },
      { file: `${file}0`, sizeBytes: 13, events: [] },
    ],
  })
})
