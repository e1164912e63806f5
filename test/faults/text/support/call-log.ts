import { EventStoreDBClient, START } from '@eventstore/db-client'

/** Reads the calls of a log with none of the product's code: what an outsider finds in it. */

const READ_TIMEOUT_MS = 60_000

/** A line of a settlement as it was written down. */
export interface WrittenLine {
  readonly sku: string
  readonly quantity: number
  readonly price: string
  readonly per: number
  readonly amount: string
  readonly measurement: 'reported' | 'estimated'
}

/** One `CallSettled` or `CallFailed`. */
export interface LoggedCall {
  readonly type: string
  readonly stream: string
  readonly callId: string
  readonly requestId: string
  readonly outcome: string | undefined
  readonly settlement:
    | {
        readonly currency: string
        readonly amount: string
        readonly priceBookVersion: string
        readonly lines: readonly WrittenLine[]
      }
    | undefined
}

/** Every call of a namespace, in the log's order. */
export async function readCalls(url: string, namespace: string): Promise<readonly LoggedCall[]> {
  const client = EventStoreDBClient.connectionString(url)
  const calls: LoggedCall[] = []
  try {
    const reading = client.readAll({ fromPosition: START, deadline: READ_TIMEOUT_MS })
    for await (const { event } of reading) {
      if (event === undefined || !event.streamId.startsWith(`${namespace}journal-`)) continue
      const data = event.data as unknown as Omit<LoggedCall, 'type' | 'stream'>
      const { callId, requestId, outcome, settlement } = data
      const stream = event.streamId
      calls.push({ type: event.type, stream, callId, requestId, outcome, settlement })
    }
  } finally {
    await client.dispose()
  }
  return calls
}
