import { createLru } from '../../kernel/lru.ts'
import { accountStream, accountStreams, settingTypes } from '../../domain/account/events.ts'
import {
  type AccountSettings,
  evolveSettings,
  isSettingEvent,
  latestSettings,
} from '../../domain/account/settings.ts'
import { type AccountSource, readAccountState, storedIn } from './account-state.ts'
import { readPages } from '../../eventlog/log/pages.ts'
import { placeOf } from '../../eventlog/log/position.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { ReadAhead } from '../../platform/read-ahead.ts'

/**
 * The settings of accounts: read from the account in the log, cached, and replaced by later events
 * of the log. Each event has all of its setting. A cached account stays valid while the log, asked every
 * few seconds, has no event of accounts that was not noticed.
 */

/** Past this age of the last answer, or read, an account is waited for: a lost event delays a change by this. */
export const ACCOUNT_FACTS_KNOWN_FOR_MS = 30_000
/** Past this age an account is read again while its requests go on. */
const RENEW_AFTER_MS = 20_000
/** The oldest are evicted first: they are read again. */
const MAX_TENANTS = 20_000

/** Settings of an account, and how far its stream was read to find them. */
interface ReadAccount {
  readonly settings: AccountSettings
  /** The first revision of the stream that was not read. */
  readonly next: bigint
}

/** The current settings of an account, by the log; empty for a missing tenant. */
export async function readSettings(
  source: AccountSource,
  tenantId: string,
): Promise<AccountSettings> {
  return (await readAccountState(source, tenantId)).settings
}

/** Reads the account from the read model if this process has not read it before. */
async function readStored(source: AccountSource, tenantId: string): Promise<ReadAccount> {
  const stored = await storedIn(source, tenantId, settingTypes)
  if (stored === undefined) return neverRead
  const settings = stored.events.filter(isSettingEvent).reduce(evolveSettings, {})
  return { settings, next: stored.revision + 1n }
}

/** Reads on from where the account was read to before. */
async function readAccount(
  source: AccountSource,
  tenantId: string,
  before: ReadAccount,
): Promise<ReadAccount> {
  const { log } = source
  let { settings, next } = before.next === 0n ? await readStored(source, tenantId) : before
  for await (const event of readPages(log, accountStream(tenantId), next)) {
    if (isSettingEvent(event)) settings = evolveSettings(settings, event)
    next = event.revision + 1n
  }
  return { settings, next }
}

/** The accounts that this process has cached. */
export interface AccountFacts {
  /** @throws errors of the log */
  readonly of: (tenantId: string) => Promise<AccountSettings>
  /** The read that a caller must wait for; undefined while `known` is valid. @throws as `of` */
  readonly awaited: (tenantId: string) => Promise<AccountSettings> | undefined
  /** The cached value, however old. */
  readonly known: (tenantId: string) => AccountSettings
  /** Takes in an event of the log. */
  readonly noticed: (event: RecordedEvent) => void
  /** Takes in that each event of the log of so many milliseconds ago was noticed, or was unknown. */
  readonly current: (agoMs: number) => void
  /** Takes in that an event cannot be decoded: what was read before it is valid for its time only. */
  readonly unknown: () => void
}

interface CachedAccount extends ReadAccount {
  /** The settings, as one promise for all requests. */
  readonly answer: Promise<AccountSettings>
  /** Start of the last read; minus infinity before the first. */
  readonly readAtMs: number
}

function cachedAccount(account: ReadAccount, readAtMs: number): CachedAccount {
  return { ...account, answer: Promise.resolve(account.settings), readAtMs }
}

/** For a tenant not read before, a cached event only keeps a running read from missing it. */
const neverRead = cachedAccount({ settings: {}, next: 0n }, Number.NEGATIVE_INFINITY)

export function createAccountFacts(
  source: AccountSource,
  monotonic: Clock = monotonicClock,
): AccountFacts {
  const accounts = createLru<string, CachedAccount>(MAX_TENANTS)
  const cached = (tenantId: string): CachedAccount => accounts.get(tenantId) ?? neverRead
  let currentAtMs = Number.NEGATIVE_INFINITY
  let unknownAtMs = Number.NEGATIVE_INFINITY

  const read = async (tenantId: string): Promise<AccountSettings> => {
    const readAtMs = monotonic.nowMs()
    const { settings: found, next } = await readAccount(source, tenantId, cached(tenantId))
    // For each setting, an event noticed during the read may be newer than the result of the read.
    const settings = latestSettings(cached(tenantId).settings, found)
    accounts.set(tenantId, cachedAccount({ settings, next }, readAtMs))
    return settings
  }

  const reads = new ReadAhead<AccountSettings>({
    validForMs: ACCOUNT_FACTS_KNOWN_FOR_MS,
    renewAfterMs: RENEW_AFTER_MS,
    read,
    clock: monotonic,
  })

  const awaited = (tenantId: string, { readAtMs } = cached(tenantId)) => {
    const validAtMs = readAtMs > unknownAtMs ? Math.max(readAtMs, currentAtMs) : readAtMs
    return reads.awaited(tenantId, monotonic.nowMs() - validAtMs)
  }

  return {
    of: (tenantId) => {
      const account = cached(tenantId)
      return awaited(tenantId, account) ?? account.answer
    },
    awaited: (tenantId) => awaited(tenantId),
    known: (tenantId) => cached(tenantId).settings,
    noticed: (event) => {
      if (!isSettingEvent(event)) return
      const { tenantId } = event.data
      const { settings: known, next, readAtMs } = cached(tenantId)
      // `next` stays: events of other settings before this one may not have been read.
      const settings = latestSettings(known, evolveSettings({}, event))
      accounts.set(tenantId, cachedAccount({ settings, next }, readAtMs))
    },
    current: (agoMs) => (currentAtMs = monotonic.nowMs() - agoMs),
    unknown: () => (unknownAtMs = monotonic.nowMs()),
  }
}

/** Follows the accounts in the log from its present end until the signal aborts. */
export async function followAccounts(deps: {
  readonly log: EventLog
  readonly facts: Pick<AccountFacts, 'noticed' | 'current' | 'unknown'>
  readonly logger: Log
  readonly signal: AbortSignal
}): Promise<{ readonly done: Promise<void> }> {
  const { log, facts, logger, signal } = deps
  const end = await log.endPosition()
  const follow = async (): Promise<void> => {
    const changes = log.subscribe({
      ...(end === undefined ? {} : { from: placeOf(end) }),
      streamPrefix: accountStreams,
      // A newer program wrote it; later events are noticed.
      onUnknown: ({ type, stream }) => {
        facts.unknown()
        logger.warn({ type, stream }, 'an event cannot be decoded')
      },
      onCurrent: facts.current,
      signal,
    })
    for await (const message of changes) if (message.kind === 'event') facts.noticed(message.event)
  }
  const done = follow().catch((error: unknown) => {
    if (!signal.aborted)
      logger.error({ err: error }, 'the subscription to account events has ended')
  })
  return { done }
}
