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
