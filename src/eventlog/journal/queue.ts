import { logUnavailable } from '../log/errors.ts'
import type { JournalLimits } from './limits.ts'
import type { NewEvent } from '../log/types.ts'

/** Absent when the record waits in the spool, or the log did not say. */
export interface Recorded {
  readonly position?: bigint
}

/** A record that waits, and whoever waits for it. */
export interface QueuedRecord {
  readonly event: NewEvent
  readonly sizeBytes: number
  readonly resolve: (recorded: Recorded) => void
  readonly reject: (error: unknown) => void
}

/** Records in order of arrival, bounded in count and bytes. */
export interface JournalQueue {
  /** @throws `log_unavailable` when it is full */
  readonly push: (event: NewEvent, sizeBytes: number) => Promise<Recorded>
  /** The next batch: as much as is there, up to the bounds of one append. */
  readonly take: () => readonly QueuedRecord[]
  readonly size: () => number
}

export function createJournalQueue(limits: JournalLimits): JournalQueue {
  let records: QueuedRecord[] = []
  let queuedBytes = 0
  return {
    push: async (event, sizeBytes) => {
      if (
        records.length >= limits.maxQueuedEvents ||
        queuedBytes + sizeBytes > limits.maxQueuedBytes
      )
        throw logUnavailable('the journal is full')
      queuedBytes += sizeBytes
      return new Promise((resolve, reject) => {
        records.push({ event, sizeBytes, resolve, reject })
      })
    },
    take: () => {
      let count = 0
      let sizeBytes = 0
      for (const record of records) {
        if (count === limits.maxBatchEvents) break
        if (count > 0 && sizeBytes + record.sizeBytes > limits.maxBatchBytes) break
        sizeBytes += record.sizeBytes
        count += 1
      }
      const batch = records.slice(0, count)
      records = records.slice(count)
      queuedBytes -= sizeBytes
      return batch
    },
    size: () => records.length,
  }
}
