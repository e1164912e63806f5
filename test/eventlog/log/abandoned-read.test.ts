import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { testEventLog } from '../../helpers/eventstore.ts'
import { cancelled, range } from '../support/sample-events.ts'

/** By then as much of an answer has arrived as is fetched ahead. */
const ARRIVED_MS = 50
/** No healthy close comes near it. */
const CLOSED_WITHIN_MS = 10_000

t.test('a reader that stops early does not delay a close, however much has arrived', async (t) => {
  for (const count of [1, 40, 64, 65, 70, 80, 200]) {
    const { log, close } = await testEventLog()
    const events = range(count).map((n) => cancelled('task-many', 'cmd_1', n))
    await log.append('task-many', events, 'any')
    for await (const _event of log.readAll({})) {
      await sleep(ARRIVED_MS)
      break
    }
    const closed = await Promise.race([
      close().then(() => 'closed'),
      sleep(CLOSED_WITHIN_MS, 'never', { ref: false }),
    ])
    t.equal(closed, 'closed', `${count} events`)
  }
})
