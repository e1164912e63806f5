import { monotonicClock } from '../../kernel/clock.ts'
import { newUuid } from '../../kernel/ids.ts'
import { createBackoff, pause } from '../../kernel/pause.ts'
import type { Connection } from './connection.ts'
import { logAccessDenied, logUnavailable } from './errors.ts'
import { failureOf, type TryFailure } from './failure.ts'
import type { EventLogLimits } from './limits.ts'
import { readPlace } from './read.ts'
import { readTipRequest } from './wire.ts'

export interface ProbeDeps {
  readonly connection: Connection
  readonly namespace: string
  readonly limits: EventLogLimits
}

/** No reader's prefix matches this stream: probes are never read. */
const PROBE_STREAM = 'probe'
const EMPTY = Buffer.from('{}')
const PROBE_BYTES = 200

/** One attempt to append: only this shows that the log appends. Undefined if it did. */
export async function probeAppend(deps: ProbeDeps, tryMs: number): Promise<TryFailure | undefined> {
  const event = {
    id: newUuid(),
    type: 'LogProbed',
    data: EMPTY,
    metadata: EMPTY,
    sizeBytes: PROBE_BYTES,
  }
  const stream = `${deps.namespace}${PROBE_STREAM}`
  const answer = await deps.connection.append({ stream, events: [event], expected: 'any' }, tryMs)
  return answer.kind === 'success' ? undefined : answer
}

/**
 * One attempt to read the last event of the log, of any namespace. Undefined if the log answered.
 */
export async function probeRead(deps: ProbeDeps, tryMs: number): Promise<TryFailure | undefined> {
  try {
    await readPlace(deps, readTipRequest(), tryMs)
    return undefined
  } catch (error) {
    return failureOf(error)
  }
}

/**
 * Checks that the gateway's account has the rights that it needs. Returns when the log recorded its last
 * event, which the check itself has appended unless others were quicker; undefined if that is not answered.
 * @throws `log_access_denied` naming the right that is missing, `log_unavailable`
 */
export async function checkAccess(deps: ProbeDeps, account: string): Promise<Date | undefined> {
  const needs = [
    { right: 'read $all', probe: probeRead },
    { right: `append to streams whose names begin with ${deps.namespace}`, probe: probeAppend },
  ]
  for (const { right, probe } of needs) {
    const failure = await untilAnswered(deps, probe)
    if (failure?.kind === 'denied') throw logAccessDenied(account, right, failure.reason)
  }
  return readLastTime(deps.connection, deps.limits.readTryMs).catch(() => undefined)
}

/** When the last event of the log was recorded, by the clock of its node. */
async function readLastTime(connection: Connection, tryMs: number): Promise<Date | undefined> {
  const answers = connection.pull(readTipRequest(), {
    signal: AbortSignal.timeout(tryMs),
    requiresLeader: true,
    idleMs: tryMs,
    onIdle: () => true,
  })
  for await (const batch of answers)
    for (const answer of batch) if (answer.kind === 'event') return answer.event.recordedAt
  return undefined
}

/** Tries while the log does not answer, within the read deadline. @throws `log_unavailable` */
async function untilAnswered(
  deps: ProbeDeps,
  probe: typeof probeRead,
): Promise<TryFailure | undefined> {
  const { limits } = deps
  const untilMs = monotonicClock.nowMs() + limits.readDeadlineMs
  const backoff = createBackoff(limits.backoffMinMs, limits.backoffMaxMs)
  for (;;) {
    const failure = await probe(deps, limits.readTryMs)
    if (failure?.kind !== 'transport') return failure
    const pauseMs = backoff.nextMs()
    if (monotonicClock.nowMs() + pauseMs >= untilMs)
      throw logUnavailable(deps.connection.undiscovered() ?? failure.reason)
    await pause(pauseMs)
  }
}

/** The account that a connection string names. */
export function accountIn(url: string): string {
  const name = /^[^:]+:\/\/([^:@/]+):[^@]*@/.exec(url)?.[1]
  return name === undefined ? 'no account (the URL names none)' : decodeURIComponent(name)
}
