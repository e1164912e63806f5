import type { StatementDocuments } from '../../app/finance/statements/document/documents.ts'
import type { Statements } from '../../app/finance/statements/types.ts'
import type { Services } from '../kit/services.ts'
import type { AccountReads } from './account-reads.ts'
import type { Billing } from './focus/table.ts'
import type { NameLookups } from './known-names.ts'
import type { QueryReads } from './reads.ts'

/** The reads of finance, support and consoles. */
export interface Queries {
  readonly reads: QueryReads
  readonly accounts: AccountReads
  readonly knownNames: NameLookups
  /** Who issues files of charges, and how tenants were billed at a position. */
  readonly billing: Billing
  /** Months of accounts, and the files of closed ones. */
  readonly statements: Pick<
    Statements,
    'board' | 'boardPage' | 'boundsOf' | 'months' | 'postings' | 'periodOfLine' | 'proofOfLine'
  > & {
    readonly documents: StatementDocuments
  }
}

/** Reports are made of these, by a process that serves no HTTP as well. */
export interface ReportServices extends Pick<QueryServices, 'queries' | 'clock'> {
  readonly http: Pick<QueryServices['http'], 'endpoints'>
}

/** The services that the routes of these queries use. */
export interface QueryServices extends Pick<
  Services,
  'clock' | 'models' | 'tokens' | 'throttle' | 'http' | 'support'
> {
  readonly queries: Queries
}
