import { accountDecider, type AccountState } from '../../domain/account/decider.ts'
import { type AccountEvent, accountStream } from '../../domain/account/events.ts'
import { readOn, type StreamState } from '../../eventlog/log/execute.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { createLru } from '../../kernel/lru.ts'

/** Accounts remembered by a process, each as large as its users, settings and postings. */
const MAX_ACCOUNTS = 100

type Known = StreamState<AccountState>

/**
 * Accounts as a process read them last. Events never change, so that only what was appended since is
 * read again: a command costs no more the longer an account is in use. Nothing of it is taken for
 * the truth: each use reads on in the log, and an append is refused where the log has another
 * revision than was read.
 */
const accountsOf = new WeakMap<Pick<EventLog, 'readStream'>, ReturnType<typeof createKnown>>()
const createKnown = () => createLru<string, Known>(MAX_ACCOUNTS)

function knownIn(log: Pick<EventLog, 'readStream'>): ReturnType<typeof createKnown> {
  const known = accountsOf.get(log) ?? createKnown()
  accountsOf.set(log, known)
  return known
}

/** An account as this process knows it, to read on from; undefined before it was read. */
export function rememberedAccount(
  log: Pick<EventLog, 'readStream'>,
  tenantId: string,
): Known | undefined {
  return knownIn(log).get(tenantId)
}

/**
 * Keeps what was read of an account or appended to it. Where an older reading ends later, the next one
 * only reads more.
 */
export function rememberAccount(
  log: Pick<EventLog, 'readStream'>,
  tenantId: string,
  { state, revision }: { readonly state: AccountState; readonly revision: bigint | undefined },
): void {
  if (revision !== undefined) knownIn(log).set(tenantId, { state, revision })
}

/** An account as the log has it now; the initial one of no tenant. @throws what the log throws */
export async function readAccountState(
  log: Pick<EventLog, 'readStream'>,
  tenantId: string,
): Promise<AccountState> {
  const known = rememberedAccount(log, tenantId)
  const read = await readOn<AccountState, AccountEvent>(
    log,
    accountStream(tenantId),
    accountDecider,
    known,
  )
  rememberAccount(log, tenantId, read)
  return read.state
}
