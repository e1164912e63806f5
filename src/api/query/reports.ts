import type { Static, TObject } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import { toRequestError } from '../kit/request-error.ts'
import { queryReader } from '../kit/bodies/validator.ts'
import type { ListPage, Table } from '../kit/answers/lists.ts'
import { BalanceQuerySchema, readBalance } from './balance.ts'
import { ChangesQuerySchema, readChanges } from './changes.ts'
import {
  adjustmentsQuerySchema,
  CreditSumsQuerySchema,
  GrantsQuerySchema,
  readAdjustments,
  readCreditSums,
  readGrants,
} from './credits.ts'
import { failuresQuerySchema, readFailures } from './failures.ts'
import { HoldsQuerySchema, readHolds } from './holds.ts'
import { readNames } from './known-names.ts'
import { readSummary, summaryQuerySchema } from './ledger.ts'
import { LivesQuerySchema, readLives } from './lives/list.ts'
import { logsQuerySchema, readLogs } from './logs.ts'
import { MovementsQuerySchema, readMovements } from './movements.ts'
import { readRefusals, RefusalsQuerySchema } from './refusals.ts'
import { readRepeats, RepeatsQuerySchema } from './repeats.ts'
import type { QueryServices, ReportServices } from './services.ts'
import { readSpeed, speedQuerySchema } from './speed.ts'
import { PeriodsQuerySchema, readPeriods } from './statements/list.ts'
import { readTasks, tasksQuerySchema } from './tasks.ts'
import { readUsage, usageQuerySchema } from './usage.ts'

/** The reports of finance and support by name, for those who ask without HTTP: the routes answer with the same. */

/** A report by its name reads the names in its parameters too. */
export interface NamedReportServices extends ReportServices {
  readonly models: Pick<QueryServices['models'], 'catalog'>
}

export type ReportRow = Readonly<Record<string, unknown>>
export type ReportList = ListPage<object> & Table<ReportRow>

export interface ReportKind {
  readonly name: string
  readonly summary: string
  /** The parameters, as the query of the route has them. */
  readonly query: TObject
  /** Reads the report by parameters as text. @throws RequestError, DomainError */
  readonly read: (
    services: NamedReportServices,
    principal: Principal,
    query: ReportRow,
  ) => Promise<ReportList>
}

/** Describes a kind; its reader takes the parameters that its schema has. */
function kind<Schema extends TObject>(
  name: string,
  summary: string,
  query: Schema,
  read: (
    services: ReportServices,
    principal: Principal,
    query: Static<Schema>,
  ) => ListPage<object> | Promise<ListPage<object>>,
): ReportKind {
  const readText = queryReader(query)
  return {
    name,
    summary,
    query,
    read: async (services, principal, asked) => {
      const found = readText(asked)
      if ('error' in found) throw toRequestError({ validation: found.error })
      const named = { ...(found.value as ReportRow) }
      const { models, queries } = services
      await readNames({ catalog: models.catalog, lookups: queries.knownNames }, principal, named)
      const list: unknown = await read(services, principal, named as Static<Schema>)
      return list as ReportList
    },
  }
}

export function reportKinds(catalog: Catalog, surfaceNames: readonly string[]) {
  return [
    kind('balance', 'what tenants have, or had at a time', BalanceQuerySchema, readBalance),
    kind('movements', 'an account, as a bank shows it', MovementsQuerySchema, readMovements),
    kind('holds', 'what is held for running tasks', HoldsQuerySchema, readHolds),
    kind('periods', 'months of accounts, closed and open', PeriodsQuerySchema, readPeriods),
    kind(
      'usage',
      'totals by one or two keys, net of refunds',
      usageQuerySchema(surfaceNames),
      readUsage,
    ),
    kind('summary', 'totals by one or two keys', summaryQuerySchema(surfaceNames), readSummary),
    kind('credits', 'sums of credit and refunds by code', CreditSumsQuerySchema, readCreditSums),
    kind('grants', 'credit that was given', GrantsQuerySchema, readGrants),
    kind(
      'adjustments',
      'refunds of lines and corrections of grants',
      adjustmentsQuerySchema(surfaceNames),
      readAdjustments,
    ),
    kind('logs', 'usage, grants and adjustments', logsQuerySchema(surfaceNames), readLogs),
    kind('failures', 'requests without a result', failuresQuerySchema(surfaceNames), readFailures),
    kind('lives', 'calls and tasks with how they stand', LivesQuerySchema, readLives),
    kind('changes', 'who changed what, and why', ChangesQuerySchema, readChanges),
    kind('refusals', 'counts of failed answers', RefusalsQuerySchema, readRefusals),
    kind('repeats', 'requests that were charged twice', RepeatsQuerySchema, readRepeats),
    kind(
      'speed',
      'requests, failures and durations by groups',
      speedQuerySchema(surfaceNames),
      readSpeed,
    ),
    kind('tasks', 'tasks with their cost', tasksQuerySchema(catalog, surfaceNames), readTasks),
  ]
}
