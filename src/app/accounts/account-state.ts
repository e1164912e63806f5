import { setImmediate } from 'node:timers/promises'
import { storedAccount } from '../../../projections/access/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { accountDecider, type AccountState } from '../../domain/account/decider.ts'
import { type AccountEvent, accountStream } from '../../domain/account/events.ts'
import { readOn, type StreamState } from '../../eventlog/log/execute.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { createLru } from '../../kernel/lru.ts'
import { runForAll } from '../../platform/sharer-context.ts'

/** Accounts remembered by a process, each as large as its users, settings and postings. */
const MAX_ACCOUNTS = 100

type Log = Pick<EventLog, 'readStream'>
type Known = StreamState<AccountState>

/** Sources from which accounts are read. */
export interface AccountSource {
  readonly log: Log
  /** The read model, without which an account is read from the beginning of its stream. */
  readonly db?: Queryable | undefined
}

/**
 * Cache of the accounts that a process has read. Events never change, so only later ones are read
 * from the log, or, for an account not read before, those that the read model does not have: a
 * command does not get slower the longer an account is in use. The cache is never the truth: each
 * use reads the rest from the log, and an append is refused if the log has another revision.
 */
const accountsOf = new WeakMap<Log, ReturnType<typeof createKnown>>()
const createKnown = () => createLru<string, Known>(MAX_ACCOUNTS)

function knownIn(log: Log): ReturnType<typeof createKnown> {
  const known = accountsOf.get(log) ?? createKnown()
  accountsOf.set(log, known)
  return known
}

/**
 * The account in the read model; undefined if it has none or cannot be read: the log has all of it.
 */
export async function storedIn(
  { db }: AccountSource,
  tenantId: string,
  types?: readonly AccountEvent['type'][],
): ReturnType<typeof storedAccount> {
  return db && (await storedAccount(db, tenantId, types).catch(() => undefined))
}

/** An account as this process or the read model knows it, to read on from; undefined where neither does. */
export async function accountBefore(
  source: AccountSource,
  tenantId: string,
): Promise<Known | undefined> {
  const known = knownIn(source.log).get(tenantId)
  if (known !== undefined) return known
  const stored = await storedIn(source, tenantId)
  if (stored === undefined) return undefined
  const state = stored.events.reduce(accountDecider.evolve, accountDecider.initial)
  return { state, revision: stored.revision }
}

/**
 * Caches an account after a read or an append. If an older read finishes later, the next one only
 * reads more.
 */
export function rememberAccount(
  { log }: AccountSource,
  tenantId: string,
  { state, revision }: { readonly state: AccountState; readonly revision: bigint | undefined },
): void {
  if (revision !== undefined) knownIn(log).set(tenantId, { state, revision })
}

async function readState(source: AccountSource, tenantId: string): Promise<AccountState> {
  const before = await accountBefore(source, tenantId)
  const read = await readOn<AccountState, AccountEvent>(
    source.log,
    accountStream(tenantId),
    accountDecider,
    before,
  )
  rememberAccount(source, tenantId, read)
  return read.state
}

/** Reads that have not begun, by the id of the tenant. */
const toBegin = new WeakMap<Log, Map<string, Promise<AccountState>>>()

function toBeginIn(log: Log): Map<string, Promise<AccountState>> {
  const reads = toBegin.get(log) ?? new Map<string, Promise<AccountState>>()
  toBegin.set(log, reads)
  return reads
}

/**
 * An account by the log, read to its end; the initial one for a missing tenant. A page has several facts of an
 * account: those who ask in the same turn of the event loop share a read, which begins after it. @throws errors of
 * the log
 */
export function readAccountState(source: AccountSource, tenantId: string): Promise<AccountState> {
  const reads = toBeginIn(source.log)
  const shared = reads.get(tenantId)
  if (shared !== undefined) return shared
  const read = runForAll(async () => {
    await setImmediate()
    reads.delete(tenantId)
    return readState(source, tenantId)
  })
  reads.set(tenantId, read)
  return read
}
