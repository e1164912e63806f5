import { open } from 'node:fs/promises'
import type { Test } from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { unreachable } from '../../../src/kernel/assert.ts'
import { logOutcomeUnknown, logUnavailable } from '../../../src/eventlog/log/errors.ts'
import type { AppendResult, EventLog } from '../../../src/eventlog/log/types.ts'

/** What may befall one append. */
export type AppendFault =
  | 'none'
  /** Refused before anything was sent. */
  | 'unavailable'
  /** Committed, and the answer lost. */
  | 'lose-ack'
  /** The answer lost, and committed only later, if its revision is still right then. */
  | 'late'
  /** Sent twice. */
  | 'duplicate'
  /** Another writer is first. */
  | 'rival'

export const appendFaults: readonly AppendFault[] = [
  'none',
  'unavailable',
  'lose-ack',
  'late',
  'duplicate',
  'rival',
]

/** A log whose appends meet the given faults in turn, and none once they are used up. */
export function faultyLog(
  log: EventLog,
  faults: readonly AppendFault[],
  rival: (stream: string) => Promise<void> = () => Promise.resolve(),
): { readonly log: EventLog; readonly settled: () => Promise<void> } {
  const left = [...faults]
  const late: Promise<unknown>[] = []
  const append: EventLog['append'] = async (stream, events, expected, options) => {
    const send = (): Promise<AppendResult> => log.append(stream, events, expected, options)
    const fault = left.shift() ?? 'none'
    switch (fault) {
      case 'none':
        return send()
      case 'unavailable':
        throw logUnavailable('a fault of the test')
      case 'lose-ack':
        await send()
        throw logOutcomeUnknown(stream, 1, 'a fault of the test')
      case 'late':
        late.push(
          sleep(Math.random() * 5)
            .then(send)
            .catch(() => undefined),
        )
        throw logOutcomeUnknown(stream, 1, 'a fault of the test')
      case 'duplicate':
        await send()
        return send()
      case 'rival':
        await rival(stream)
        return send()
      default:
        return unreachable(fault)
    }
  }
  return {
    log: { ...log, append },
    settled: async () => {
      await Promise.all(late)
    },
  }
}

/** What of a file fails: its bytes are written, and that they are on disk cannot be made sure. */
type FileCall = 'datasync' | 'truncate'

/** A disk that fails so until the returned function is called, for every file of this process. */
export async function failDisk(
  t: Pick<Test, 'teardown'>,
  calls: readonly FileCall[],
): Promise<() => void> {
  const handle = await open('/dev/null', 'r')
  const prototype = Object.getPrototypeOf(handle) as Record<FileCall, () => Promise<void>>
  await handle.close()
  const before = { datasync: prototype.datasync, truncate: prototype.truncate }
  for (const call of calls)
    prototype[call] = async () => Promise.reject(new Error(`EIO: i/o error, ${call}`))
  const mend = (): void => void Object.assign(prototype, before)
  t.teardown(mend)
  return mend
}
