import { Gauge, type Registry } from 'prom-client'
import type { EarliestPolls } from '../../../projections/tasks/query.ts'
import type { LedgerTotal } from '../../../projections/ledger/query.ts'
import type { LastAudit } from '../../app/audit/last-audit.ts'
import { type countOpenMonths, openMonthAges } from '../../app/finance/statements/open-months.ts'
import type { SilentSpools } from '../../app/spending/lost-spools.ts'
import type { Clock } from '../../kernel/clock.ts'
import { currencies, formatAmount, parseAmount } from '../../kernel/money.ts'
import { withProbeTimeout } from './health.ts'

/** The queries behind the figures of the database: a few rows each, however long the ledger is. */
interface DatabaseFigures {
  readonly totals: () => Promise<readonly LedgerTotal[]>
  readonly lastAudit: () => Promise<LastAudit | undefined>
  /** Months that are over and not closed, by age. */
  readonly openMonths: () => ReturnType<typeof countOpenMonths>
  /** Settlements that wait in spools of replicas that have stopped reporting. */
  readonly silentSpools: () => Promise<readonly SilentSpools[]>
  readonly earliestPolls: () => Promise<EarliestPolls>
  /** Whether some process updates the read models. */
  readonly hasLeader: () => Promise<boolean>
  readonly clock: Clock
}

/** A figure of the ledger: exact in the database, a float in the metrics. */
const FLOAT = 'A float; the ledger has the exact amount.'

function sumOf(totals: readonly LedgerTotal[], kind: LedgerTotal['kind'], part?: string): bigint {
  return totals
    .filter((total) => total.kind === kind && (part === undefined || total.part === part))
    .reduce((sum, { amount }) => sum + parseAmount(amount), 0n)
}

const distance = (pico: bigint): bigint => (pico < 0n ? -pico : pico)

/**
 * The difference within the books of one currency: the sum of all accounts, settled lines minus
 * revenue, placed holds minus held amounts.
 */
function trialDifference(totals: readonly LedgerTotal[]): string {
  return formatAmount(
    distance(sumOf(totals, 'account')) +
      distance(sumOf(totals, 'settled') + sumOf(totals, 'account', 'revenue')) +
      distance(sumOf(totals, 'held') - sumOf(totals, 'account', 'held')),
  )
}

interface Figure {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

type Totals = () => Promise<readonly LedgerTotal[]>

type AddGauge = (
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => Promise<readonly Figure[]>,
) => void

/**
 * Metrics of settled and held amounts, of whether the books agree, of the last audit, and of tasks that wait for a
 * worker; read at every scrape.
 */
export function useDatabaseMetrics(registry: Registry, figures: DatabaseFigures): void {
  let reading: Promise<readonly LedgerTotal[]> | undefined
  /** One query serves all gauges of a scrape; unknown figures are left out. */
  const look: Totals = () => {
    reading ??= withProbeTimeout(figures.totals)
      .catch((): readonly LedgerTotal[] => [])
      .finally(() => (reading = undefined))
    return reading
  }
  const gauge = gaugesIn(registry)
  addTotals(gauge, look)
  addTrialBalance(gauge, look)
  addLastAudit(gauge, figures)
  addOpenMonths(gauge, figures)
  addSilentSpools(gauge, figures)
  addWaits(gauge, figures)
  addLeader(gauge, figures)
}

function gaugesIn(registry: Registry): AddGauge {
  return (name, help, labelNames, read) => {
    const registered: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        registered.reset()
        // A gauge without labels would stay at 0 from then on, which would be wrong.
        if (labelNames.length === 0) registered.remove()
        for (const { labels, value } of await read()) registered.set(labels, value)
      },
    })
  }
}

/** Lines and holds by currency and kind. */
function addTotals(gauge: AddGauge, look: Totals): void {
  const ofTotals = (
    name: string,
    help: string,
    kind: LedgerTotal['kind'],
    value: (total: LedgerTotal) => number,
  ): void => {
    const bySurface = kind !== 'held'
    gauge(name, help, bySurface ? ['currency', 'surface'] : ['currency'], async () =>
      (await look())
        .filter((total) => total.kind === kind)
        .map((total) => ({
          labels: {
            currency: total.currency,
            ...(bySurface && { surface: total.part }),
          },
          value: value(total),
        })),
    )
  }
  const amount = (total: LedgerTotal): number => Number(total.amount)
  const count = ({ n }: LedgerTotal): number => n
  ofTotals('tollgate_settled_amount', `Sum of all ledger lines. ${FLOAT}`, 'settled', amount)
  ofTotals('tollgate_settled_lines', 'Lines of the ledger.', 'settled', count)
  ofTotals(
    'tollgate_settled_estimated_amount',
    `Estimated part of the settled amount. ${FLOAT}`,
    'estimated',
    amount,
  )
  ofTotals('tollgate_holds_open', 'Open holds.', 'held', count)
  ofTotals('tollgate_holds_open_amount', `Sum of open holds. ${FLOAT}`, 'held', amount)
}

function addLeader(gauge: AddGauge, { hasLeader }: Pick<DatabaseFigures, 'hasLeader'>): void {
  gauge(
    'tollgate_leads',
    '1 while some process does a work that only one process may do at a time; absent while Postgres does not answer.',
    ['what'],
    async () => {
      const isLed = await withProbeTimeout(hasLeader).catch(() => undefined)
      return isLed === undefined ? [] : [{ labels: { what: 'projections' }, value: isLed ? 1 : 0 }]
    },
  )
}

function addTrialBalance(gauge: AddGauge, look: Totals): void {
  gauge(
    'tollgate_trial_balance_difference',
    `Difference between accounts, lines and holds; 0 if they agree. ${FLOAT}`,
    ['currency'],
    async () => {
      const totals = await look()
      return currencies
        .map((currency) => totals.filter((total) => total.currency === currency))
        .flatMap((own) => {
          const [first] = own
          if (first === undefined) return []
          return { labels: { currency: first.currency }, value: Number(trialDifference(own)) }
        })
    },
  )
}

function addLastAudit(gauge: AddGauge, { lastAudit }: Pick<DatabaseFigures, 'lastAudit'>): void {
  const ofAudit = (name: string, help: string, valueOf: (audit: LastAudit) => number): void =>
    gauge(name, help, [], async () => {
      const audit = await withProbeTimeout(lastAudit).catch(() => undefined)
      return audit === undefined ? [] : [{ labels: {}, value: valueOf(audit) }]
    })
  ofAudit(
    'tollgate_audit_age_seconds',
    'Seconds since an audit last completed; absent if none ever did.',
    ({ ageSeconds }) => ageSeconds,
  )
  ofAudit(
    'tollgate_audit_findings',
    'Findings of the last audit; absent if there was none.',
    ({ findings }) => findings,
  )
}

function addOpenMonths(gauge: AddGauge, { openMonths }: Pick<DatabaseFigures, 'openMonths'>): void {
  gauge(
    'tollgate_periods_open',
    'Months that are over and not closed, of tenants with billing details, by age: 1, 2 or 3+ months.',
    ['age'],
    async () => {
      const counts = await withProbeTimeout(openMonths).catch(() => undefined)
      if (counts === undefined) return []
      return openMonthAges.map((age) => ({ labels: { age }, value: counts[age] }))
    },
  )
}

function addSilentSpools(
  gauge: AddGauge,
  { silentSpools }: Pick<DatabaseFigures, 'silentSpools'>,
): void {
  const none: Omit<SilentSpools, 'currency'> = { spools: 0, amount: '0', oldestSeconds: 0 }
  const ofSpools = (name: string, help: string, valueOf: (spools: typeof none) => number): void =>
    gauge(name, help, ['currency'], async () => {
      const found = await withProbeTimeout(silentSpools).catch(() => undefined)
      if (found === undefined) return []
      return currencies.map((currency) => ({
        labels: { currency },
        value: valueOf(found.find((spools) => spools.currency === currency) ?? none),
      }))
    })
  ofSpools(
    'tollgate_silent_spools',
    'Spools with settlements whose replica has stopped reporting, so that no process drains them.',
    ({ spools }) => spools,
  )
  ofSpools(
    'tollgate_silent_spools_amount',
    `Sum of the settlements in silent spools. ${FLOAT}`,
    ({ amount }) => Number(amount),
  )
  ofSpools(
    'tollgate_silent_spools_oldest_seconds',
    'Longest time since one of those replicas last reported; after a week its spool is given up.',
    ({ oldestSeconds }) => oldestSeconds,
  )
}

/** Processes without background work show these too: where no worker runs, none of them could. */
function addWaits(
  gauge: AddGauge,
  { earliestPolls, clock }: Pick<DatabaseFigures, 'earliestPolls' | 'clock'>,
): void {
  const ofWaits = (name: string, help: string, since: keyof EarliestPolls): void =>
    gauge(name, help, [], async () => {
      const earliest = await withProbeTimeout(earliestPolls).catch(() => undefined)
      if (earliest === undefined) return []
      const sinceMs = earliest[since] ?? Infinity
      return [{ labels: {}, value: Math.max(0, clock.nowMs() - sinceMs) / 1_000 }]
    })
  ofWaits(
    'tollgate_polls_overdue_seconds',
    'Time for which the first due task has waited for a worker that asks its provider; 0 if none waits.',
    'dueMs',
  )
  ofWaits(
    'tollgate_uncertain_oldest_seconds',
    'Age of the oldest task of which it is unknown whether the provider accepted it; 0 without one.',
    'uncertainMs',
  )
}
