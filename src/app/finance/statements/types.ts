import type { Person } from '../../../domain/account/postings.ts'
import type { Currency } from '../../../kernel/money.ts'
import type { PeriodBounds } from './leaves.ts'

/** The use cases of closed months, as routes and commands call them. */

/** One month of one tenant's account in one currency. */
export interface MonthOf {
  readonly tenantId: string
  readonly currency: Currency
  /** `YYYY-MM`, of the tenant's zone. */
  readonly month: string
}

/** A close of a month: by default the one that stands, or else the last one, which is void. */
export interface CloseOf extends MonthOf {
  /** The number of its statement. */
  readonly statement?: string | undefined
}

/** Who asks, as the log records it. */
export interface StatementContext {
  /** The request, or the program that ran the command. */
  readonly correlationId: string
  /** A token, or the name of a person at a shell. */
  readonly actor: string
  /** The person behind the token; undefined: a shell. */
  readonly by: Person | undefined
}

/** Why a month cannot be closed yet. */
export const blockerCodes = [
  'ledger_behind',
  'spool_waiting',
  'books_differ',
  'proposals_open',
  'audit_found',
  'audit_old',
  'grace_running',
  'profile_missing',
  'issuer_missing',
  'previous_open',
] as const
export type BlockerCode = (typeof blockerCodes)[number]

/** The blockers that a person may pass with a reason. */
export const passableCodes = ['audit_found', 'audit_old'] as const
export type PassableCode = (typeof passableCodes)[number]

export interface Blocker {
  readonly code: BlockerCode
  readonly message: string
  readonly count: number
  /** The page of the console or the command of `tollgate` that ends it. */
  readonly href: string
}

/** Usage of one SKU; the last row of many is `other`, whose unit and quantity are null. */
export interface SkuSum {
  readonly sku: string
  /** Null: its lines have different units, and then there is no quantity. */
  readonly unit: string | null
  readonly quantity: number | null
  readonly amount: string
  readonly lines: number
}

/** Refunds posted in the month, by the statement that has their lines. */
export interface RefundSum {
  /** Null: no statement has the lines yet, or there are more statements than rows. */
  readonly statement: string | null
  readonly amount: string
  readonly postings: number
}

/** The figures of a month. Amounts are exact decimals; `settled` is negative, as the balance sees it. */
export interface PeriodFigures {
  readonly opening: string
  readonly granted: { readonly paid: string; readonly promotional: string }
  readonly adjusted: { readonly usage: string; readonly grants: string }
  readonly expired: string
  readonly settled: string
  readonly closing: string
  readonly lines: number
  /** Lines, grants, adjustments and expiries. */
  readonly postings: number
  /** The number of postings that are dated before the month. */
  readonly late: number
  readonly sums: readonly SkuSum[]
  readonly refunds: readonly RefundSum[]
  /** Holds of the month that are placed when it is closed, and settlements that wait in spools. */
  readonly accruals: { readonly held: string; readonly unstated: string }
}

/** A month with its bounds and figures, closed or as it would be closed now. */
export interface PeriodOf extends MonthOf, PeriodFigures {
  readonly n: number
  readonly attempt: number
  readonly statement: string
  readonly timeZone: string
  /** RFC 3339 with the offset of the zone. */
  readonly from: string
  readonly to: string
  /** Position of the log up to which postings are known, decimal. */
  readonly position: string
  /** Revisions of the billing profile and of the issuer's. */
  readonly profile: number
  readonly issuer: number
}

export interface ClosedPeriod extends PeriodOf {
  readonly previous?: { readonly n: number; readonly root: string } | undefined
  /** Root of the Merkle tree, base64. */
  readonly root: string
  /** A signed note. */
  readonly checkpoint: string
  readonly despite?: { readonly codes: readonly string[]; readonly reason: string } | undefined
  readonly by?: Person | undefined
  readonly closedAt: string
}

/** A closed month without the rows of its statement, as lists have it. */
export type ListedPeriod = Omit<ClosedPeriod, 'sums' | 'refunds'>

/** A month of the board: a closed one has figures, an open one what keeps it from being closed. */
export type BoardRow = MonthOf &
  (
    | {
        readonly status: 'closed'
        readonly period: ListedPeriod
        /** Whether it is proposed to void it; the proposal may have lapsed. */
        readonly isVoidProposed: boolean
      }
    | { readonly status: 'open'; readonly blockers: readonly Blocker[] }
  )

/** Rows of a board by what can be done about them. */
export const boardParts = ['blocked', 'ready', 'closed'] as const
export type BoardPart = (typeof boardParts)[number]

/** One page of the board of a month, and counts of all of its rows. */
export interface BoardPage {
  /** Rows that are blocked come first, then those that are ready, then the closed ones. */
  readonly rows: readonly BoardRow[]
  /** Rows of the part that is shown, on all pages. */
  readonly shown: number
  readonly counts: Readonly<Record<BoardPart, number>> & {
    /** Closed months of which it is proposed to void them. */
    readonly voidProposed: number
    /** Blocked rows by blocker, in the order of `blockerCodes`; those without a row are left out. */
    readonly blockers: readonly { readonly code: BlockerCode; readonly rows: number }[]
  }
}

export interface CloseInput extends MonthOf {
  /** Passes these blockers of the audit; `reason` is then required. */
  readonly despite?: readonly PassableCode[] | undefined
  readonly reason?: string | undefined
}

export interface Statements {
  /**
   * Closes a month; a repetition and a second closer get the period that stands. A request for a
   * month that this process closes already joins it.
   * @throws DomainError `period_blocked` (details: `blockers`), `tenant_not_found`,
   *   `period_not_next`, `overloaded`; the codes of the log and of the database
   */
  readonly close: (
    input: CloseInput,
    context: StatementContext,
  ) => Promise<{ readonly period: ClosedPeriod; readonly created: boolean }>
  /** Closes the months of one account up to one, the last included; stops at the first that fails. */
  readonly closeUntil: (
    input: Omit<CloseInput, 'month'> & { readonly until: string },
    context: StatementContext,
  ) => AsyncIterable<ClosedPeriod>
  /**
   * Begins to close a month of every account without a blocker, one after the other; the same again
   * goes on where it was.
   */
  readonly closeAll: (
    input: { readonly month: string; readonly currency?: Currency | undefined },
    context: StatementContext,
  ) => Promise<{
    readonly closing: number
    readonly blocked: number
    /** Resolves once the last of them is closed or has failed; never rejects. */
    readonly done: Promise<readonly CloseOutcome[]>
  }>
  /** The figures of an open month, with what would keep it from being closed now. */
  readonly preview: (
    input: MonthOf,
  ) => Promise<{ readonly period: PeriodOf; readonly blockers: readonly Blocker[] }>
  /** The figures of an open month alone. */
  readonly openPeriod: (input: MonthOf) => Promise<PeriodOf>
  /** One month of all accounts of these tenants, by tenant and currency; undefined: of all tenants. */
  readonly board: (input: {
    readonly month: string
    readonly tenantIds: readonly string[] | undefined
    readonly currency?: Currency | undefined
  }) => Promise<readonly BoardRow[]>
  /** A page of the board: `show` names a part of it or a blocker, `skip` the rows of earlier pages. */
  readonly boardPage: (
    input: Parameters<Statements['board']>[0] & {
      readonly show: BoardPart | BlockerCode | undefined
      readonly skip: number
      readonly limit: number
    },
  ) => Promise<BoardPage>
  /** One account month by month, oldest first: the closed ones, then those that are open. */
  readonly months: (input: Omit<MonthOf, 'month'>) => Promise<readonly BoardRow[]>
  /**
   * Finds which postings a closed month has: the times and the positions that bound them, and the zone of the month.
   * @throws DomainError `period_not_found`
   */
  readonly boundsOf: (
    input: MonthOf,
  ) => Promise<{ readonly bounds: PeriodBounds; readonly timeZone: string }>
  /**
   * The leaves of a closed month, one JSON text a line, the leaf of the close first, in chunks of
   * many lines. @throws DomainError `period_not_found`
   */
  readonly postings: (input: CloseOf) => AsyncIterable<string>
  /**
   * The proof that the leaf of the close is in its tree, for `statement.json`.
   * @throws DomainError `period_not_found`, `read_model_behind` while the tree is built again
   */
  readonly proofOfClose: (input: CloseOf) => Promise<{
    readonly leaf: string
    /** `[sums, refunds, accruals]` and `[issuer, customer]`, as the leaf has hashes of them. */
    readonly sums: readonly unknown[]
    readonly parties: readonly unknown[]
    /** Hashes in base64, from the sibling upwards. */
    readonly path: readonly string[]
    /** A signed note. */
    readonly checkpoint: string
  }>
  /** The close that has a line. @throws DomainError `line_not_found`, `line_open` where its month is open */
  readonly periodOfLine: (input: {
    readonly tenantId: string
    readonly lineId: string
  }) => Promise<ListedPeriod>
  /**
   * The proof that a line is in the statement that has it (`.tlog-proof`).
   * @throws DomainError `line_not_found`, `line_open` where its month is open, `read_model_behind`
   *   while the tree is built again
   */
  readonly proofOfLine: (input: {
    readonly tenantId: string
    readonly lineId: string
  }) => Promise<string>
}

/** How one of many closes ended. */
export type CloseOutcome = MonthOf &
  ({ readonly period: ClosedPeriod } | { readonly error: unknown })
