import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { insufficientBalance } from '../access/admission.ts'
import type { LedgerLag } from '../access/ledger-lag.ts'
import { readSpendable, type Spendable } from '../access/spendable.ts'
import { balanceUntold, createTenantQueue, type BalanceKey } from '../access/tenant-queue.ts'
import { tellSpending } from '../access/text-spending.ts'
import type { Clock } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Currency } from '../../kernel/money.ts'
import { type Hold, TenantFunds, type Telling } from './tenant-funds.ts'

/**
 * Whether a tenant can pay for a call, without a database in the way of every call. A process holds
 * against the balance it read a moment ago, less what its own calls have spoken for. About once a
 * second it tells the other replicas what that is and reads what is left when they and the tasks
 * have theirs. Between two such exchanges it admits at most one part in `UNTOLD_PART` of what it
 * found; a call beyond that is decided under the lock that tasks are decided under, told of in the
 * same transaction.
 *
 * So each replica but one can hold, unseen by the others, one such part, and another while a decision
 * under the lock is on its way: together they hold at most 2 ÷ `UNTOLD_PART` of what was available
 * too much for every further replica (a task admitted at the same time counts as one). Beyond that
 * goes only what calls in flight cost more than their holds.
 */
export interface Funds {
  /**
   * Places a hold until it is settled or withdrawn.
   * @throws DomainError `insufficient_balance` (details: currency, hold, available),
   *   `log_unavailable` when the balance cannot be told
   */
  readonly hold: (tenantId: string, currency: Currency, holdPico: bigint) => Promise<Hold>
  /**
   * Tells and learns of every tenant with calls, and looks how far the ledger is behind. `spooling`:
   * settlements wait in the spool. @throws what the database throws; told again then
   */
  readonly exchange: (spooling: boolean) => Promise<void>
}

export interface FundsDeps {
  readonly pool: Pool
  /** Names this process among those that share the database, and no other at any time. */
  readonly replica: string
  readonly lag: LedgerLag
  /** Only durations are taken from it, so it should never be set back. */
  readonly clock: Clock
}

/** A balance is read anew, in the background, when it is older. */
const FRESH_FOR_MS = 1_000
/** Before somebody is refused, a balance older than this is read again. */
const RECHECK_AFTER_MS = 100
/** A balance that is older, or a ledger that is further behind the log, is not spent from. */
export const MAX_LAG_MS = 30_000
/** Whoever is about to be refused for it waits at most this long for a further look. */
const LOOK_WAIT_MS = 1_000
/** Tenants remembered; those without calls in flight are forgotten first. */
const MAX_TENANTS = 10_000
/** Tenants told and learnt of in one go. */
const MAX_EXCHANGED = 1_000

interface Asked extends BalanceKey {
  readonly funds: TenantFunds
  readonly holdPico: bigint
  hold?: Hold
  telling?: Telling
}

export function createFunds({ pool, replica, lag, clock }: FundsDeps): Funds {
  const tenants = new Map<string, TenantFunds>()
  const reading = new Map<string, Promise<void>>()
  let turn = 0
  let lookedAtMs = Number.NEGATIVE_INFINITY
  const nowMs = () => clock.nowMs()
  const nextTurn = () => ({ replica, turn: (turn += 1) })

  const fundsOf = (tenantId: string): TenantFunds => {
    const known = tenants.get(tenantId)
    if (known !== undefined) return known
    if (tenants.size >= MAX_TENANTS) forgetOne(tenants)
    const made = new TenantFunds(tenantId)
    tenants.set(tenantId, made)
    return made
  }
  /** First tells, then reads: of two that do so at once, one sees the other. */
  const exchange = async (some: readonly TenantFunds[]): Promise<void> => {
    const readAtMs = nowMs()
    const told = some.map((funds) => ({ funds, telling: funds.telling() }))
    const spending = told.flatMap(({ telling }) => telling.spending)
    await tellSpending(pool, nextTurn(), spending)
    const found = await readSpendable(
      pool,
      some.map(({ tenantId }) => tenantId),
      replica,
    )
    for (const { funds, telling } of told) {
      funds.exchanged(telling)
      learn(funds, found, readAtMs)
    }
  }
  const refresh = (funds: TenantFunds): Promise<void> => {
    const known = reading.get(funds.tenantId)
    if (known !== undefined) return known
    const made = exchange([funds]).finally(() => reading.delete(funds.tenantId))
    reading.set(funds.tenantId, made)
    return made
  }
  /** Makes sure that a balance is known that is young enough. */
  const makeKnown = async (funds: TenantFunds): Promise<void> => {
    const ageMs = funds.ageMs(nowMs())
    if (ageMs !== undefined && ageMs < FRESH_FOR_MS * 2) {
      // In the background: this call need not wait for the next reading.
      if (ageMs >= FRESH_FOR_MS) refresh(funds).catch(() => undefined)
      return
    }
    try {
      await refresh(funds)
    } catch (error) {
      if ((funds.ageMs(nowMs()) ?? MAX_LAG_MS) >= MAX_LAG_MS) throw balanceUntold(error)
    }
  }
  const look = (): Promise<void> => {
    lookedAtMs = nowMs()
    return lag.look()
  }
  const refuseBehind = async (): Promise<void> => {
    const untilMs = performance.now() + LOOK_WAIT_MS
    while (lag.lagMs() > MAX_LAG_MS) {
      const waitMs = untilMs - performance.now()
      if (nowMs() - lookedAtMs >= RECHECK_AFTER_MS) await atMost(waitMs, look())
      // A process that has just started may never have seen the ledger complete, busy as it is.
      else if (lag.lagMs() === Infinity && waitMs > 0) await sleep(RECHECK_AFTER_MS)
      else throw behind()
    }
  }
  /** Under the lock: what is read is all there is, and what is told is seen by whoever comes next. */
  const decide = async (client: PoolClient, batch: readonly Asked[]) => {
    const [first] = batch
    if (first === undefined) return []
    const { funds } = first
    const readAtMs = nowMs()
    learn(funds, await readSpendable(client, [funds.tenantId], replica), readAtMs)
    try {
      const refusals = batch.map((asked) => {
        const availablePico = funds.availablePico(asked.currency)
        // A hold is at least what nothing costs: whoever is in debt starts nothing.
        if (availablePico < asked.holdPico || availablePico <= 0n)
          return insufficientBalance(asked, asked.holdPico, availablePico)
        asked.hold = funds.place(asked.currency, asked.holdPico, nowMs)
        return undefined
      })
      const telling = funds.telling()
      await tellSpending(client, nextTurn(), telling.spending)
      for (const asked of batch) asked.telling = telling
      return refusals
    } catch (error) {
      for (const { hold } of batch) hold?.withdraw()
      throw error
    }
  }
  const decided = createTenantQueue(pool, decide)

  return {
    hold: async (tenantId, currency, holdPico) => {
      await refuseBehind()
      const funds = fundsOf(tenantId)
      await makeKnown(funds)
      if (funds.isSmall(currency, holdPico)) return funds.place(currency, holdPico, nowMs)
      const availablePico = funds.availablePico(currency)
      const isRecent = (funds.ageMs(nowMs()) ?? Infinity) < RECHECK_AFTER_MS
      if (isRecent && (availablePico < holdPico || availablePico <= 0n))
        throw insufficientBalance({ currency }, holdPico, availablePico)
      const asked: Asked = { tenantId, currency, funds, holdPico }
      try {
        await decided(asked)
      } catch (error) {
        asked.hold?.withdraw()
        throw error
      }
      if (asked.hold === undefined || asked.telling === undefined) throw balanceUntold(undefined)
      // Not before it was committed.
      funds.exchanged(asked.telling)
      return asked.hold
    },
    exchange: async (spooling) => {
      // Not waited for: a log that is away must not keep the others from being told.
      look().catch(() => undefined)
      const active = [...tenants.values()].filter((funds) => !funds.isIdle())
      if (spooling) for (const funds of active) funds.keepUnplaced(nowMs())
      for (let at = 0; at < active.length; at += MAX_EXCHANGED)
        await exchange(active.slice(at, at + MAX_EXCHANGED))
    },
  }
}

function learn(funds: TenantFunds, found: ReadonlyMap<string, Spendable>, readAtMs: number): void {
  const spendable = found.get(funds.tenantId)
  if (spendable !== undefined) funds.learn(spendable, readAtMs)
}

/** Of those with calls in flight none can be: what they hold would be forgotten with them. */
function forgetOne(tenants: Map<string, TenantFunds>): void {
  for (const [tenantId, funds] of tenants)
    if (funds.isIdle()) {
      tenants.delete(tenantId)
      return
    }
  throw balanceUntold(undefined)
}

/** Waits for something, whatever comes of it, but not for ever. */
async function atMost(waitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => (timer = setTimeout(resolve, waitMs)))
  await Promise.race([work.catch(() => undefined), late])
  clearTimeout(timer)
}

function behind(): DomainError {
  return new DomainError('log_unavailable', 'the balance cannot be checked at the moment', {
    reason: `the ledger is more than ${MAX_LAG_MS} ms behind the log`,
  })
}
