import type { MoneyEffect } from '../../../src/domain/event-facts.ts'
import type { Corrects } from '../../../src/domain/pricing/settlement.ts'
import type { LedgerLine } from '../line.ts'

/** Accounts of a tenant; each exists once per currency. */
type Account =
  /** The tenant's debt for settled results, less its credit. */
  | 'receivable'
  | 'revenue'
  | 'credit'
  | 'adjustment'
  /** Promised to running tasks, and where it comes from. */
  | 'held'
  | 'available'

interface Entry {
  readonly position: bigint
  readonly n: number
  readonly kind:
    | 'hold_placed'
    | 'hold_captured'
    | 'hold_released'
    | 'settled'
    | 'granted'
    | 'adjusted'
  readonly sourceId: string
  readonly tenantId: string
  readonly currency: string
  readonly debit: Account
  readonly credit: Account
  /** Positive. */
  readonly amountPico: bigint
}

export interface Hold {
  readonly sourceId: string
  readonly tenantId: string
  readonly currency: string
  readonly amountPico: bigint
}

type HoldState = 'placed' | 'captured' | 'released'

export interface HoldChange {
  readonly hold: Hold
  /** Placed in this batch, with its time; otherwise its row exists. */
  readonly placedAt: string | undefined
  state: HoldState
  closedAt: string | undefined
  position: bigint
}

interface SettledSource {
  readonly sourceId: string
  readonly tenantId: string
  readonly currency: string
  readonly amountPico: bigint
  readonly lines: number
  readonly position: bigint
}

type MovementOf<Kind extends MoneyEffect['kind']> = Extract<MoneyEffect, { readonly kind: Kind }>

/** A correction of a line or a grant, with who posted it. */
interface Adjustment {
  readonly position: bigint
  readonly adjustmentId: string
  readonly tenantId: string
  readonly currency: string
  /** Signed: positive gives to the tenant. */
  readonly amountPico: bigint
  readonly corrects: Corrects
  readonly code: MovementOf<'adjusted'>['code']
  readonly reason: string
  readonly actor: string | undefined
  readonly postedAt: string
}

/** Credit that was given, with who gave it. */
interface Grant {
  readonly position: bigint
  readonly grantId: string
  readonly tenantId: string
  readonly currency: string
  readonly amountPico: bigint
  readonly credit: MovementOf<'granted'>['credit']
  readonly reference: string | undefined
  readonly reason: string
  readonly actor: string | undefined
  readonly grantedAt: string
}

export interface BalanceDelta {
  readonly tenantId: string
  readonly currency: string
  granted: bigint
  adjusted: bigint
  refunded: bigint
  expired: bigint
  settled: bigint
  held: bigint
  /** The new limit, when it was set. */
  limit: bigint | undefined
  position: bigint
}

/** A total over all tenants. */
export interface TotalKey {
  readonly kind: 'settled' | 'estimated' | 'held' | 'account'
  readonly currency: string
  /** Surface of lines, name of an account; empty of holds. */
  readonly part: string
}

interface TotalDelta extends TotalKey {
  /** Lines, placed holds, or entries on either side of an account. */
  n: number
  amountPico: bigint
}

/** Everything one batch does to the ledger. */
export interface LedgerChange {
  readonly lines: LedgerLine[]
  readonly settlements: SettledSource[]
  readonly entries: Entry[]
  readonly adjustments: Adjustment[]
  readonly grants: Grant[]
  readonly holds: Map<string, HoldChange>
  readonly balances: Map<string, BalanceDelta>
  readonly totals: Map<string, TotalDelta>
}

/** An empty change, with the placed holds that a batch may close. */
export function emptyChange(holds: readonly Hold[]): LedgerChange {
  const known = holds.map((hold): [string, HoldChange] => [
    hold.sourceId,
    { hold, placedAt: undefined, state: 'placed', closedAt: undefined, position: -1n },
  ])
  return {
    lines: [],
    settlements: [],
    entries: [],
    adjustments: [],
    grants: [],
    holds: new Map(known),
    balances: new Map(),
    totals: new Map(),
  }
}

/** Adds to a total over all tenants. */
export function addToTotal(
  change: LedgerChange,
  { kind, currency, part }: TotalKey,
  n: number,
  amountPico: bigint,
): void {
  const key = `${kind}/${currency}/${part}`
  const delta = change.totals.get(key)
  if (delta === undefined) change.totals.set(key, { kind, currency, part, n, amountPico })
  else {
    delta.n += n
    delta.amountPico += amountPico
  }
}

/** The change of one balance by a batch. */
export function balanceOf(
  change: LedgerChange,
  tenantId: string,
  currency: string,
  position: bigint,
): BalanceDelta {
  const key = `${currency}/${tenantId}`
  let delta = change.balances.get(key)
  if (delta === undefined) {
    delta = {
      tenantId,
      currency,
      granted: 0n,
      adjusted: 0n,
      refunded: 0n,
      expired: 0n,
      settled: 0n,
      held: 0n,
      limit: undefined,
      position,
    }
    change.balances.set(key, delta)
  }
  delta.position = position
  return delta
}

/** Adds an entry; an amount of zero adds none. */
export function enter(change: LedgerChange, entry: Omit<Entry, 'n'>): void {
  const { position, kind, sourceId, tenantId, currency, debit, credit, amountPico } = entry
  if (amountPico === 0n) return
  const last = change.entries.at(-1)
  const n = last?.position === position ? last.n + 1 : 1
  addToTotal(change, { kind: 'account', currency, part: debit }, 1, amountPico)
  addToTotal(change, { kind: 'account', currency, part: credit }, 1, -amountPico)
  change.entries.push({
    position,
    n,
    kind,
    sourceId,
    tenantId,
    currency,
    debit,
    credit,
    amountPico,
  })
}
