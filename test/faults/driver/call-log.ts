import type { LoggedEvent } from './log-reader.ts'

/** The synchronous calls of a log. */

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

/** Every call, in the log's order. */
export function callsOf(log: readonly LoggedEvent[]): readonly LoggedCall[] {
  return log
    .filter(({ stream }) => stream.startsWith('journal-'))
    .map(({ type, stream, data }) => {
      const { callId, requestId, outcome, settlement } = data as unknown as Omit<
        LoggedCall,
        'type' | 'stream'
      >
      return { type, stream, callId, requestId, outcome, settlement }
    })
}
