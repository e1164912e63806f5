import { accountStream, accountStreams } from '../../domain/account/events.ts'
import { placeOf } from '../../eventlog/log/position.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { forAll } from '../../kernel/asked-by.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'

/**
 * Something that a tenant's account says all of each time it says it: what it said last is so. It is read
 * from the account in the log, kept in memory, and replaced as soon as the log tells of another.
 */

/** What an event says; undefined where it says nothing of it. */
export type FactOf<Fact> = (event: RecordedEvent) => Fact | undefined

/** What a tenant's account says, and how far it was read to find it. */
export interface ReadFact<Fact> {
  /** Undefined: it never said anything. */
  readonly fact: Fact | undefined
  /** Where in its stream to go on; 0: there is no such tenant. */
  readonly next: bigint
}

/** What was read serves no longer, whatever became of those who tell: a change is late by this at most. */
export const ACCOUNT_FACT_KNOWN_FOR_MS = 30_000
/** The oldest are forgotten first: they are read again. */
const MAX_TENANTS = 20_000
/** Events of an account that are read at once. */
const PAGE_EVENTS = 500

/** Events of a tenant's account, the oldest first. */
export async function* accountEventsFrom(
  log: Pick<EventLog, 'readStream'>,
  tenantId: string,
  first: bigint,
): AsyncGenerator<RecordedEvent> {
  for (let from = first; ;) {
    const page = await log.readStream(accountStream(tenantId), { from, limit: PAGE_EVENTS })
    yield* page
    if (page.length < PAGE_EVENTS) return
    from += BigInt(PAGE_EVENTS)
  }
}

/** Straight from the account, read on from where it was read to before. */
export async function readAccountFact<Fact>(
  log: Pick<EventLog, 'readStream'>,
  tenantId: string,
  factOf: FactOf<Fact>,
  before?: ReadFact<Fact>,
): Promise<ReadFact<Fact>> {
  let read = before ?? { fact: undefined, next: 0n }
  for await (const event of accountEventsFrom(log, tenantId, read.next))
    read = { fact: factOf(event) ?? read.fact, next: event.revision + 1n }
  return read
}

/** What accounts say, told by the log of what changes. */
export interface FollowedFact<Fact> {
  /** @throws what the log throws */
  readonly of: (tenantId: string) => Promise<Fact | undefined>
  /** What is known at the moment, however old. */
  readonly known: (tenantId: string) => Fact | undefined
  readonly noticed: (event: RecordedEvent) => void
}

interface Known<Fact> extends ReadFact<Fact> {
  /** Of when it began to be read. */
  readonly readAtMs: number
}

export function createFollowedFact<Fact>(
  log: Pick<EventLog, 'readStream'>,
  factOf: FactOf<Fact>,
  monotonic: Clock = monotonicClock,
): FollowedFact<Fact> {
  const known = new BoundedMap<string, Known<Fact>>(MAX_TENANTS)
  const reading = new Map<string, Promise<Fact | undefined>>()

  const read = async (tenantId: string): Promise<Fact | undefined> => {
    const readAtMs = monotonic.nowMs()
    const found = await readAccountFact(log, tenantId, factOf, known.get(tenantId))
    // While it was read the log may have told of what is later still.
    const latest = later(found, known.get(tenantId))
    known.set(tenantId, { ...latest, readAtMs })
    return latest.fact
  }

  return {
    of: (tenantId) => {
      const kept = known.get(tenantId)
      if (kept !== undefined && monotonic.nowMs() - kept.readAtMs < ACCOUNT_FACT_KNOWN_FOR_MS)
        return Promise.resolve(kept.fact)
      const begun = reading.get(tenantId)
      if (begun !== undefined) return begun
      const begin = forAll(() => read(tenantId)).finally(() => reading.delete(tenantId))
      reading.set(tenantId, begin)
      return begin
    },
    known: (tenantId) => known.get(tenantId)?.fact,
    noticed: (event) => {
      const fact = factOf(event)
      if (fact === undefined || !('tenantId' in event.data)) return
      const { tenantId } = event.data
      const kept = known.get(tenantId)
      const told = { fact, next: event.revision + 1n }
      // Of a tenant not read before it only keeps a reading under way from missing it.
      const readAtMs = kept?.readAtMs ?? Number.NEGATIVE_INFINITY
      known.set(tenantId, { ...later(told, kept), readAtMs })
    },
  }
}

function later<Fact>(one: ReadFact<Fact>, other: ReadFact<Fact> | undefined): ReadFact<Fact> {
  return other !== undefined && other.next > one.next ? other : one
}

/**
 * Tells of what the log says of accounts until the signal aborts, from where the log ends now on:
 * nothing was read before.
 */
export async function followAccounts(deps: {
  readonly log: EventLog
  readonly listeners: readonly Pick<FollowedFact<unknown>, 'noticed'>[]
  readonly logger: Log
  readonly signal: AbortSignal
}): Promise<{ readonly done: Promise<void> }> {
  const { log, listeners, logger, signal } = deps
  const end = await log.endPosition()
  const follow = async (): Promise<void> => {
    const changes = log.subscribe({
      ...(end === undefined ? {} : { from: placeOf(end) }),
      streamPrefix: accountStreams,
      // It is a newer program's: what was read serves for its time, what follows is noticed.
      onUnknown: ({ type, stream }) => logger.warn({ type, stream }, 'an event is not understood'),
      signal,
    })
    for await (const message of changes)
      if (message.kind === 'event')
        for (const listener of listeners) listener.noticed(message.event)
  }
  const done = follow().catch((error: unknown) => {
    if (!signal.aborted) logger.error({ err: error }, 'accounts are no longer followed')
  })
  return { done }
}
