import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { CallEvent } from '../../../src/domain/call/events.ts'
import { createJournal, newInstanceId } from '../../../src/eventlog/journal/journal.ts'
import { openSpool, spoolIdentity } from '../../../src/eventlog/journal/spool.ts'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { Recorder, recordCall } from '../../projections/support/history.ts'

/** The journal of a gateway whose log is away: `spooling-child.ts DATA_DIR URL CALLS`. It waits to be killed. */
const [, , dataDir = '', url = '', calls] = process.argv
const directory = join(dataDir, 'spool')
await mkdir(directory, { recursive: true })
const log = createEventLog({ url, namespace: process.env['EVENTSTORE_NAMESPACE'] ?? '' })
const instanceId = newInstanceId(systemClock.nowMs())
await spoolIdentity(directory, systemClock.nowMs())
const spool = await openSpool({ directory, instanceId, logger: silentLog, clock: systemClock })
const limits = { spoolAfterMs: 100 }
const journal = createJournal({ log, instanceId, logger: silentLog, spool, limits })
const recorder = new Recorder()
for (let n = 0; n < Number(calls); n += 1) {
  const { type, data } = recordCall(recorder, n)
  const event = { type, data } as CallEvent
  await journal.record(event, { correlationId: `req_${n}`, commandId: `call_${n}` })
}
process.stdout.write('spooled\n')
setInterval(() => undefined, 60_000)
