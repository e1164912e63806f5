import { openSpool } from '../../../src/eventlog/journal/spool.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { range, sized } from '../support/sample-events.ts'

/**
 * A process whose files may not grow: it spools large batches until one is refused, then a small
 * one, looks for room before and after it, says how many were taken, and dies.
 */

const LARGE_BYTES = 20_000
const [, , directory = ''] = process.argv
const spool = await openSpool({ directory, instanceId: 'a', logger: silentLog, clock: systemClock })
const append = (name: string, bytes: number): Promise<boolean> =>
  spool
    .append({ stream: 'journal-i-0', expected: 'no_stream', events: [sized('j', name, bytes)] })
    .then(
      () => true,
      () => false,
    )
let large = 0
for (const index of range(10)) {
  if (!(await append(`large-${index}`, LARGE_BYTES))) break
  large += 1
}
const faults = [spool.fault()]
await spool.lookForRoom()
const small = await append('small', 1)
await spool.lookForRoom()
faults.push(spool.fault())
process.stdout.write(JSON.stringify({ large, small, faults }))
process.exit(0)
