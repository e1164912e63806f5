import { setTimeout as sleep } from 'node:timers/promises'
import { DomainError } from '../../kernel/errors.ts'
import { completeCall } from './complete.ts'
import type { CallDeps } from './deps.ts'
import { listModels } from './text/models.ts'
import type { Pump } from './text/pump.ts'
import { streamCall } from './text/stream.ts'
import type { TextCallInput, TextUseCases } from './types.ts'

/** How often streams are looked over for callers who take nothing. */
const STALL_CHECK_MS = 5_000
const CLOSE_POLL_MS = 20
/** What is cancelled at the deadline gets this long to be settled. */
const CANCELLED_SETTLE_MS = 5_000

/** The use cases with what a shutdown needs. */
export interface RunningTextUseCases extends TextUseCases {
  /** Calls not ended and settled yet, those whose caller has gone included. */
  readonly inFlight: () => number
  /**
   * Takes no more calls and waits for those in flight; what is not over at the deadline is cancelled
   * upstream and settled from what had come. False when something was still open even then.
   */
  readonly close: (deadlineMs: number) => Promise<boolean>
}

/** The synchronous text use cases. */
export function createTextUseCases(deps: CallDeps): RunningTextUseCases {
  /** Of calls whose use case has not returned yet. */
  const pending = new Set<AbortController>()
  const pumps = new Set<Pump>()
  let closed = false
  const inFlight = () => pending.size + pumps.size

  const counted = async <Result>(
    input: TextCallInput,
    run: (stopped: AbortSignal) => Promise<Result>,
  ): Promise<Result> => {
    if (closed) throw new DomainError('overloaded', 'the service is shutting down', {})
    if (inFlight() >= deps.limits.maxCalls)
      throw new DomainError('overloaded', 'too many calls are in flight', {})
    const controller = new AbortController()
    pending.add(controller)
    deps.metrics.inFlight.set(inFlight())
    try {
      return await run(controller.signal)
    } catch (error) {
      const outcome = error instanceof DomainError ? error.code : 'internal'
      deps.metrics.ended.inc({ family: input.family, outcome })
      throw error
    } finally {
      pending.delete(controller)
      deps.metrics.inFlight.set(inFlight())
    }
  }
  const watch = (pump: Pump): void => {
    pumps.add(pump)
    void pump.done.then(() => {
      pumps.delete(pump)
      deps.metrics.inFlight.set(inFlight())
    })
  }
  const stalls = setInterval(() => {
    const nowMs = performance.now()
    for (const pump of pumps) if (pump.idleMs(nowMs) > deps.limits.consumerStallMs) pump.abandon()
  }, STALL_CHECK_MS).unref()

  const emptyWithin = async (deadlineMs: number): Promise<boolean> => {
    const untilMs = performance.now() + deadlineMs
    while (inFlight() > 0 && performance.now() < untilMs) await sleep(CLOSE_POLL_MS)
    return inFlight() === 0
  }
  return {
    complete: (input) => counted(input, (stopped) => completeCall(deps, input, stopped)),
    stream: (input) =>
      counted(input, async (stopped) => {
        const { streamed, pump } = await streamCall(deps, input, stopped)
        watch(pump)
        return streamed
      }),
    listModels: (principal) => Promise.resolve(listModels(deps.channels, principal)),
    inFlight,
    close: async (deadlineMs) => {
      closed = true
      const empty = await emptyWithin(deadlineMs)
      clearInterval(stalls)
      if (empty) return true
      for (const controller of pending) controller.abort()
      for (const pump of pumps) pump.cancel()
      return emptyWithin(CANCELLED_SETTLE_MS)
    },
  }
}
