import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { CallEvent } from '../../../src/domain/call/events.ts'
import {
  createJournal,
  newInstanceId,
  type Journal,
} from '../../../src/eventlog/journal/journal.ts'
import type { JournalLimits } from '../../../src/eventlog/journal/limits.ts'
import { openSpool, type Spool, type SpoolOptions } from '../../../src/eventlog/journal/spool.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { testEventLog, type TestEventStore } from '../../helpers/eventstore.ts'
import { callFailed, range } from './sample-events.ts'

/** A log in a separate namespace, with everything that a test of the journal needs. */
export interface JournalPlace {
  readonly log: EventLog
  readonly spoolDirectory: string
  /** Opens the spool as a process with this instance id does. */
  readonly spool: (instanceId: string, more?: Partial<SpoolOptions>) => Promise<Spool>
  /** Call ids in the log, in order; twice if they are there twice. */
  readonly calls: () => Promise<readonly string[]>
  /** How many events each stream has. */
  readonly streams: () => Promise<Readonly<Record<string, number>>>
}

export async function journalPlace(
  test: Pick<Test, 'teardown'>,
  server: TestEventStore,
): Promise<JournalPlace> {
  const { log, close } = await testEventLog({ server })
  test.teardown(close)
  const spoolDirectory = await mkdtemp(join(tmpdir(), 'tollgate-journal-'))
  test.teardown(() => rm(spoolDirectory, { recursive: true, force: true }))
  return {
    log,
    spoolDirectory,
    spool: async (instanceId, more = {}) => {
      const spool = await openSpool({
        directory: spoolDirectory,
        instanceId,
        logger: silentLog,
        clock: systemClock,
        ...more,
      })
      // Those whose process "died" in a test are still open at its end.
      test.teardown(() => spool.close().catch(() => undefined))
      return spool
    },
    calls: async () => {
      const ids: string[] = []
      for await (const event of log.readAll())
        if (event.type === 'CallFailed') ids.push(event.data.callId)
      return ids
    },
    streams: async () => {
      const counts: Record<string, number> = {}
      for await (const event of log.readAll())
        counts[event.stream] = (counts[event.stream] ?? 0) + 1
      return counts
    },
  }
}

export function journalOf(
  log: EventLog,
  options: { spool?: Spool; instanceId?: string; limits?: Partial<JournalLimits> } = {},
): Journal {
  return createJournal({ log, instanceId: newInstanceId(0), logger: silentLog, ...options })
}

/** A spool of a process that dies before it drains anything. */
export const undrained = (spool: Spool): Spool => ({
  ...spool,
  oldest: () => new Promise(() => undefined),
})

/** A spool of a process that dies before it takes a batch off; `takesOff` resolves when it comes to that. */
export function neverTakingOff(spool: Spool) {
  let begin = (): void => undefined
  const takesOff = new Promise<void>((resolve) => (begin = resolve))
  const oldest: Spool['oldest'] = async (maxBytes) => {
    const batches = await spool.oldest(maxBytes)
    const drop = (): Promise<never> => {
      begin()
      return new Promise(() => undefined)
    }
    return batches && { ...batches, drop }
  }
  return { spool: { ...spool, oldest }, takesOff }
}

export const record = (journal: Journal, callId: string, event: CallEvent = callFailed(callId)) =>
  journal.record(event, { correlationId: 'req_1', commandId: callId, tenantId: 'ten_1' })

export const names = (count: number, from = 0): readonly string[] =>
  range(count).map((index) => `call_${from + index}`)
