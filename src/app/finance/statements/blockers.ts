import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { trialBalance } from '../../../../projections/ledger/query.ts'
import { countOpenProposals } from '../../../../projections/proposals/query.ts'
import type { BillingProfile } from '../../../domain/account/billing.ts'
import { parseAmount } from '../../../kernel/money.ts'
import type { TimeZone } from '../../../kernel/time-zone.ts'
import { readLastAudit } from '../../audit/last-audit.ts'
import { readWaitingSpools } from '../../spending/lost-spools.ts'
import type { Blocker, BlockerCode, MonthOf } from './types.ts'

/** Why months cannot be closed yet: all reasons at once, each with the page or command that ends it. */

/** A nightly audit may be two hours late. */
const MAX_AUDIT_AGE_HOURS = 26
const HOUR_MS = 3_600_000

/** The state of the gateway and of some tenants' accounts. */
export interface ClosingFacts {
  readonly nowMs: number
  readonly isLedgerBehind: boolean
  readonly isIssuerKnown: boolean
  readonly audit: Awaited<ReturnType<typeof readLastAudit>>
  /** Currencies whose accounts do not sum to zero. */
  readonly unbalanced: ReadonlySet<string>
  /** Numbers by account (`accountKey`). */
  readonly spools: ReadonlyMap<string, number>
  readonly proposals: ReadonlyMap<string, number>
}

export const accountKey = ({
  tenantId,
  currency,
}: {
  readonly tenantId: string
  readonly currency: string
}): string => `${currency} ${tenantId}`

/** Reads the facts of these tenants, or of all, by a statement for each fact. */
export async function readClosingFacts(
  db: Queryable,
  {
    tenantIds,
    ...known
  }: Pick<ClosingFacts, 'nowMs' | 'isLedgerBehind' | 'isIssuerKnown'> & {
    readonly tenantIds: readonly string[] | undefined
  },
): Promise<ClosingFacts> {
  const proposals = await countOpenProposals(db, { tenantIds, nowMs: known.nowMs })
  const spools = await readWaitingSpools(db, tenantIds)
  const sums = new Map<string, bigint>()
  for (const { currency, amount } of await trialBalance(db))
    sums.set(currency, (sums.get(currency) ?? 0n) + parseAmount(amount))
  return {
    ...known,
    audit: await readLastAudit(db),
    unbalanced: new Set([...sums].filter(([, pico]) => pico !== 0n).map(([currency]) => currency)),
    spools: new Map(spools.map((of) => [accountKey(of), of.spools])),
    proposals: new Map(proposals.map((of) => [accountKey(of), of.count])),
  }
}

/** The month that is to be closed. */
export interface ClosingMonth extends MonthOf {
  readonly profile: Pick<BillingProfile, 'revision' | 'graceHours'>
  readonly zone: TimeZone
  readonly toMs: number
  /** The month that comes next in this account. */
  readonly next: string
}

type Described = Omit<Blocker, 'code'>

/** Everything that keeps a month from being closed, in the order of `blockerCodes`. */
export function blockersOf(month: ClosingMonth, facts: ClosingFacts): readonly Blocker[] {
  const described: Readonly<Record<BlockerCode, Described | undefined>> = {
    ledger_behind: facts.isLedgerBehind
      ? one('The ledger is behind the event log', '/console/operations')
      : undefined,
    spool_waiting: counted(
      facts.spools.get(accountKey(month)),
      (count) => `Settlements wait in ${count} ${count === 1 ? 'spool' : 'spools'}`,
      '/console/operations',
    ),
    books_differ: facts.unbalanced.has(month.currency)
      ? one(`Debits and credits in ${month.currency} differ`, 'tollgate audit')
      : undefined,
    proposals_open: counted(
      facts.proposals.get(accountKey(month)),
      (count) => `${count} ${count === 1 ? 'posting waits' : 'postings wait'} for an approval`,
      '/console/proposals',
    ),
    ...auditBlockers(facts),
    grace_running: graceBlocker(month, facts),
    profile_missing:
      month.profile.revision === 0
        ? one(
            'The tenant has no billing details',
            `tollgate billing set --tenant ${month.tenantId}`,
          )
        : undefined,
    issuer_missing: facts.isIssuerKnown
      ? undefined
      : one('The issuer of statements is not set', 'tollgate issuer set'),
    previous_open:
      month.month > month.next
        ? one(`${month.next} is closed first`, `tollgate close --month ${month.next}`)
        : undefined,
  }
  return Object.entries(described).flatMap(([code, blocker]) =>
    blocker === undefined ? [] : [{ code: code as BlockerCode, ...blocker }],
  )
}

const one = (message: string, href: string): Described => ({ message, count: 1, href })

function counted(
  count: number | undefined,
  messageOf: (count: number) => string,
  href: string,
): Described | undefined {
  return count === undefined ? undefined : { message: messageOf(count), count, href }
}

function auditBlockers({
  audit,
}: ClosingFacts): Readonly<Record<'audit_found' | 'audit_old', Described | undefined>> {
  const href = 'tollgate audit'
  if (audit === undefined)
    return { audit_found: undefined, audit_old: one('No audit has ended yet', href) }
  const hours = Math.floor((audit.ageSeconds * 1_000) / HOUR_MS)
  return {
    audit_found: counted(
      audit.findings === 0 ? undefined : audit.findings,
      (count) => `The last audit has ${count} ${count === 1 ? 'finding' : 'findings'}`,
      href,
    ),
    audit_old:
      hours >= MAX_AUDIT_AGE_HOURS ? one(`The last audit is ${hours} hours old`, href) : undefined,
  }
}

function graceBlocker(
  { toMs, profile, zone, tenantId }: ClosingMonth,
  { nowMs }: ClosingFacts,
): Described | undefined {
  const closableMs = toMs + profile.graceHours * HOUR_MS
  if (nowMs >= closableMs) return undefined
  return one(
    `The month can be closed from ${zone.secondAt(closableMs)} on`,
    `tollgate billing show --tenant ${tenantId}`,
  )
}
