import { usage } from '../../../../../projections/ledger/query.ts'
import { listPeriods, type VoidProposal } from '../../../../../projections/statements/query.ts'
import type { Queryable } from '../../../../../projections/engine/queryable.ts'
import { fromTimestamp } from '../../../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../../../kernel/money.ts'
import { type AccountSources, readBillingAt } from '../closing-account.ts'
import { sinceOf } from '../figures.ts'
import { readIssuer } from '../issuer.ts'
import type { RunJob } from '../process.ts'
import { requirePeriod } from '../proofs.ts'
import type { CloseOf, ClosedPeriod, MonthOf, PeriodOf, Statements } from '../types.ts'
import type { CloseProof } from './json.ts'
import type { PaperJob } from './paper/pdf.ts'
import type { StatementSource, UserUsage } from './source.ts'

/** Finds what a statement is made of: its close, its parties as they were then, and its proof. */

const groupBy = ['user', 'model'] as const

/** A close as the read model has it, with its parties. */
export interface FoundStatement {
  readonly source: StatementSource & { readonly issued: ClosedPeriod }
  /** The last proposal to void it that has not ended; it may have lapsed. */
  readonly voidProposal: VoidProposal | undefined
}

/** A statement that is void. */
export interface VoidedStatement {
  readonly statement: string
  /** RFC 3339. */
  readonly at: string
  readonly reason: string
}

export interface StatementDocuments {
  /**
   * The statement of a month without its proof.
   * @throws DomainError `period_not_found`
   */
  readonly find: (input: CloseOf) => Promise<FoundStatement>
  /**
   * The statement of a month with its proof.
   * @throws DomainError `period_not_found`, `read_model_behind`
   */
  readonly issued: (
    input: CloseOf,
  ) => Promise<{ readonly source: StatementSource; readonly proof: CloseProof }>
  /** The statements of a month that are void, the first one first. */
  readonly voided: (input: MonthOf) => Promise<readonly VoidedStatement[]>
  /** The statement as it would be if the month were closed now. @throws what `preview` throws */
  readonly preview: (input: MonthOf) => Promise<StatementSource>
  /** Usage of a month by user and model, in that order, at most so many rows. */
  readonly users: (
    period: StatementSource['period'],
    limit: number,
  ) => Promise<readonly UserUsage[]>
  /**
   * A statement, or one of its credit notes, as PDF.
   * @throws DomainError `overloaded` where too many wait for one, and once the signal aborts
   */
  readonly paper: (job: PaperJob, signal: AbortSignal) => Promise<Uint8Array>
}

export interface DocumentDeps extends Pick<AccountSources, 'db' | 'log'> {
  readonly statements: Pick<Statements, 'openPeriod' | 'proofOfClose'>
  /** Makes documents in a process that callers do not wait for. */
  readonly runJob: RunJob
}

async function partiesOf(
  deps: DocumentDeps,
  { tenantId, profile, issuer }: Pick<PeriodOf, 'tenantId' | 'profile' | 'issuer'>,
): Promise<Pick<StatementSource, 'issuer' | 'customer' | 'language'>> {
  const { profiles } = await readIssuer(deps.log)
  // A preview needs no profile; a close has refused without one.
  const customer = profile === 0 ? undefined : await readBillingAt(deps, tenantId, profile)
  return { issuer: profiles[issuer - 1], customer, language: customer?.language ?? 'en' }
}

/** Usage by user and model: what is dated in the month, and what is late. */
async function usersOf(
  db: Queryable,
  period: StatementSource['period'],
  limit: number,
): Promise<readonly UserUsage[]> {
  const { tenantId, currency, position, late, previous } = period
  const [fromMs, toMs] = [period.from, period.to].map(fromTimestamp)
  const account = { tenantId, currency, asOf: BigInt(position) }
  const closes = late === 0 ? [] : await listPeriods(db, { tenantId, currency })
  // The root finds the month before, which may have been voided and closed again.
  const before = closes.filter(({ closed }) => closed.root === previous?.root)
  const since = sinceOf(before.map(({ closed }) => closed))
  const filters = [
    { ...account, fromMs, toMs },
    ...(late === 0 ? [] : [{ ...account, toMs: fromMs, since }]),
  ]
  const found = new Map<string, UserUsage>()
  for (const filter of filters)
    for (const { keys, lines, amount } of await usage(db, { filter, groupBy, limit })) {
      const { user: userId = '', model = '' } = keys
      const key = JSON.stringify([userId, model])
      const before = found.get(key)
      const sumPico = parseAmount(before?.amount ?? '0') + parseAmount(amount)
      const sum = { lines: (before?.lines ?? 0) + lines, amount: formatAmount(sumPico) }
      found.set(key, { userId, model, ...sum })
    }
  return [...found.keys()].toSorted().flatMap((key) => found.get(key) ?? [])
}

async function findStatement(deps: DocumentDeps, of: CloseOf): Promise<FoundStatement> {
  const { closed, sums, refunds, voidProposal, voidEnd, state } = await requirePeriod(deps, of)
  const period = { ...closed, sums, refunds }
  const source = {
    period,
    issued: period,
    voided:
      state === 'voided' && voidEnd !== null
        ? { at: voidEnd.endedAt, reason: voidEnd.reason }
        : undefined,
    ...(await partiesOf(deps, closed)),
  }
  const isProposed = state === 'void_proposed' && voidProposal !== null
  return { source, voidProposal: isProposed ? voidProposal : undefined }
}

export function createStatementDocuments(deps: DocumentDeps): StatementDocuments {
  const { db, statements, runJob } = deps
  return {
    find: (of) => findStatement(deps, of),
    issued: async (of) => {
      const { source } = await findStatement(deps, of)
      return { source, proof: await statements.proofOfClose(of) }
    },
    voided: async ({ month, ...account }) =>
      (await listPeriods(db, account)).flatMap(({ closed, state, voidEnd }) =>
        closed.month === month && state === 'voided' && voidEnd !== null
          ? [{ statement: closed.statement, at: voidEnd.endedAt, reason: voidEnd.reason }]
          : [],
      ),
    preview: async (of) => {
      const period = await statements.openPeriod(of)
      const parties = await partiesOf(deps, period)
      return { period, issued: undefined, voided: undefined, ...parties }
    },
    users: (period, limit) => usersOf(db, period, limit),
    paper: (job, signal) => runJob('pdf', job, signal),
  }
}
