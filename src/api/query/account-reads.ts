import {
  listTenants,
  tenantNames,
  tokenLabels,
  tokenOwners,
  tokenUsers,
  userNames,
} from '../../../projections/access/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import {
  type SettledAmount,
  settledAmounts,
  usage,
  type UsageGroup,
  type UsageQuery,
  usageExtent,
} from '../../../projections/ledger/query.ts'
import {
  platformIdsOf,
  type QueriedPlace,
  queryTasks,
  tasksBehind,
  requestTimes,
  type TaskQueryFilter,
  type TaskRow,
} from '../../../projections/tasks/query.ts'
import {
  eventsAt,
  type FailedRequest,
  failedRequests,
  type FailureFilter,
  type LivesFilter,
  type RepeatsFilter,
  speedOf,
} from '../../../projections/timeline/query.ts'
import type { ReadBalances } from '../../app/finance/balances.ts'
import {
  type CountedRefusals,
  countedRefusals,
  type RefusalFilter,
} from '../../app/support/refusal-list.ts'
import { beginningLives, type ListedLife } from '../../app/support/lives.ts'
import { type ChargedTwice, chargedTwice } from '../../app/support/repeats.ts'
import { actorsNamed, listChanges } from '../../app/accounts/changes.ts'
import type { ReadModels } from '../../app/read-models/read-models.ts'
import { type AccountSettings, settingIn } from '../../domain/account/settings.ts'
import { RequestError } from '../kit/request-error.ts'
import { withQueryTimeout } from '../kit/routes/queries.ts'
import { positionsOf } from './as-of.ts'
import { type BookReads, bookReads, NARROW } from './book-reads.ts'
import { openLogs, type LogFilter, type LogRow, type Logs } from './open-logs.ts'
import type { QueryReads } from './reads.ts'
import type { TimeRange } from './time-range.ts'

/** Facts about a listed row in addition to the ledger. */
export interface LogFacts {
  readonly tokens: Awaited<ReturnType<typeof tokenLabels>>
  /** Events by the position of the row. */
  readonly events: Awaited<ReturnType<typeof eventsAt>>
  /** Times of the requests of tasks, by task id. */
  readonly requestedAtMs: ReadonlyMap<string, number>
}

/** Ids whose names are wanted; the names of users are found by their `userKey`. */
interface NamedIds {
  readonly tenants: readonly string[]
  readonly users: readonly { readonly tenantId: string; readonly userId: string }[]
  readonly tokens: readonly string[]
}

type Names = Readonly<Record<keyof NamedIds, ReadonlyMap<string, string>>>

/** An item of a token with the last four characters of its secret, where they are known. */
export type OfToken<Item> = Item & { readonly tokenLastFour: string | undefined }
type DropFirst<Members extends readonly unknown[]> = Members extends readonly [
  unknown,
  ...infer Others,
]
  ? Others
  : never
type FailurePage = Parameters<typeof failedRequests>[2]

/** The reads behind the lists and totals of finance and support. */
export interface AccountReads extends BookReads {
  readonly balances: ReadBalances
  /** Users of tokens, by the id of the token. */
  readonly tokenUsers: (tokenIds: readonly string[]) => Promise<ReadonlyMap<string, string>>
  /** Ids of tenants in order, after a given one. */
  readonly tenants: (page: {
    readonly after: string | undefined
    readonly limit: number
  }) => Promise<readonly string[]>
  readonly openLogs: (filter: LogFilter) => Promise<Logs>
  readonly logFacts: (rows: readonly LogRow[]) => Promise<LogFacts>
  /** The platform ids for an id: for a native id those of its tasks, otherwise the id itself. */
  readonly sourcesOf: (taskId: string) => Promise<readonly string[]>
  readonly tasks: (
    filter: TaskQueryFilter,
    page: { readonly offset: number; readonly limit: number },
  ) => Promise<{ readonly rows: readonly TaskRow[]; readonly total: number }>
  readonly tasksBehind: (
    filter: TaskQueryFilter,
    after: QueriedPlace | undefined,
    limit: number,
  ) => Promise<readonly TaskRow[]>
  readonly settledAmounts: (ids: readonly string[]) => Promise<ReadonlyMap<string, SettledAmount>>
  /** Current names of tenants, users and tokens. */
  readonly names: (of: NamedIds) => Promise<Names>
  /** The position that a list of failures or of lives is as of, like `ledgerPosition` that of a list of lines. */
  readonly failurePosition: QueryReads['ledgerPosition']
  /** Failed requests, newest first, behind a place in their list. */
  readonly failures: (
    filter: FailureFilter,
    page: FailurePage,
  ) => Promise<{
    readonly items: readonly OfToken<FailedRequest>[]
    readonly next: string | undefined
  }>
  /** Counts of failed answers, the newest hour first, behind a place in their list. */
  readonly refusals: (
    filter: RefusalFilter,
    page: FailurePage,
  ) => Promise<{
    readonly items: readonly OfToken<CountedRefusals>[]
    readonly next: string | undefined
  }>
  /** Calls and tasks of a tenant, newest first, behind a place in their list. */
  readonly lives: (
    filter: LivesFilter,
    page: FailurePage,
  ) => Promise<{ readonly items: readonly ListedLife[]; readonly next: string | undefined }>
  /** Requests that were charged again, newest first, behind a place in their list. */
  readonly repeats: (
    filter: RepeatsFilter,
    page: FailurePage,
  ) => Promise<{
    readonly items: readonly OfToken<ChargedTwice>[]
    readonly next: string | undefined
  }>
  /** Changes, newest first, behind a place in their list. */
  readonly changes: (
    filter: Parameters<typeof listChanges>[1],
    page: FailurePage,
  ) => ReturnType<typeof listChanges>
  /** The actors that a name stands for; undefined: it is unknown. */
  readonly changeActors: (
    name: string,
    tenantId: string | undefined,
  ) => ReturnType<typeof actorsNamed>
  /** Tokens with their users, by the id of the token. */
  readonly tokenOwners: (tokenIds: readonly string[]) => ReturnType<typeof tokenOwners>
  /** Requests and their durations by groups, and of all. */
  readonly speed: (...asked: DropFirst<Parameters<typeof speedOf>>) => ReturnType<typeof speedOf>
  readonly usage: (query: UsageQuery) => Promise<readonly UsageGroup[]>
  /** The keys of tags that a tenant has declared. @throws errors of the log */
  readonly tagKeys: (tenantId: string) => Promise<readonly string[]>
  /** The time zone of a tenant: of its billing profile, else of its budgets, else UTC. @throws errors of the log */
  readonly zoneOf: (tenantId: string) => Promise<string>
  /** The first and last day with usage, for a range without ends; undefined if there is none. */
  readonly usageExtent: (tenantId: string | undefined) => Promise<Required<TimeRange> | undefined>
}

/** Lists wait no longer for further facts; missing ones are null. */
const FACTS_WAIT_MS = 1_000

/** Most groups in one answer about usage. */
const MAX_GROUPS = 50_000

async function readNames(db: Queryable, { tenants, users, tokens }: NamedIds): Promise<Names> {
  const labels = tokens.length === 0 ? new Map() : await tokenLabels(db, tokens)
  return {
    tenants: tenants.length === 0 ? new Map() : await tenantNames(db, tenants),
    users: users.length === 0 ? new Map() : await userNames(db, users),
    tokens: new Map([...labels].map(([id, { name }]) => [id, name])),
  }
}

function settingReads(
  settingsOf: (tenantId: string) => Promise<AccountSettings>,
): Pick<AccountReads, 'tagKeys' | 'zoneOf'> {
  return {
    tagKeys: async (tenantId) => settingIn(await settingsOf(tenantId), 'reporting').tagKeys,
    zoneOf: async (tenantId) => {
      const { billing, budgets } = await settingsOf(tenantId)
      return billing?.timeZone ?? budgets?.timeZone ?? 'UTC'
    },
  }
}

async function ofTokens<Item extends { readonly tokenId: string }>(
  db: Queryable,
  { items, next }: { readonly items: readonly Item[]; readonly next: string | undefined },
) {
  const labels = await tokenLabels(db, [...new Set(items.map(({ tokenId }) => tokenId))])
  const labelled = items.map((item): OfToken<Item> => {
    return { ...item, tokenLastFour: labels.get(item.tokenId)?.lastFour }
  })
  return { items: labelled, next }
}

/** The reads of requests: of all, and of those without a result. */
function failureReads(
  deps: Parameters<typeof positionsOf>[1],
): Pick<AccountReads, 'failurePosition' | 'failures' | 'lives' | 'refusals' | 'repeats' | 'speed'> {
  const { db } = deps
  return {
    failurePosition: positionsOf('timeline', deps),
    failures: async (filter, page) =>
      ofTokens(db, await withQueryTimeout(NARROW, () => failedRequests(db, filter, page))),
    lives: (filter, page) => withQueryTimeout(NARROW, () => beginningLives(db, filter, page)),
    repeats: async (filter, page) =>
      ofTokens(db, await withQueryTimeout(NARROW, () => chargedTwice(db, filter, page))),
    speed: (filter, by) => withQueryTimeout(NARROW, () => speedOf(db, filter, by)),
    refusals: async (filter, page) =>
      ofTokens(db, await withQueryTimeout(NARROW, () => countedRefusals(db, filter, page))),
  }
}

export function accountReads(deps: {
  /** The statements have a timeout. */
  readonly db: Queryable
  readonly logEnd: () => Promise<bigint | undefined>
  readonly readModels: Pick<ReadModels, 'requireCurrent'>
  readonly balances: ReadBalances
  readonly settingsOf: (tenantId: string) => Promise<AccountSettings>
}): AccountReads {
  const { db, readModels, balances, settingsOf } = deps
  return {
    balances,
    ...bookReads(db),
    tokenUsers: (ids) => tokenUsers(db, ids),
    tenants: async (page) => (await listTenants(db, page)).map(({ tenantId }) => tenantId),
    openLogs: (filter) => openLogs((read) => withQueryTimeout(NARROW, () => read(db)), filter),
    logFacts: async (rows) => {
      const positions = rows.map(({ position }) => position)
      const last = positions.reduce((most, each) => (BigInt(each) > most ? BigInt(each) : most), 0n)
      if (rows.length > 0) await waitForPosition(db, 'timeline', last, FACTS_WAIT_MS)
      return {
        tokens: await tokenLabels(db, [...new Set(rows.flatMap(({ tokenId }) => tokenId ?? []))]),
        events: await eventsAt(db, [...new Set(positions)]),
        requestedAtMs: await requestTimes(db, [
          ...new Set(rows.flatMap(({ sourceId }) => sourceId ?? [])),
        ]),
      }
    },
    sourcesOf: async (taskId) => [...new Set([taskId, ...(await platformIdsOf(db, taskId))])],
    tasks: async (filter, page) => {
      await readModels.requireCurrent('tasks')
      return withQueryTimeout(NARROW, () => queryTasks(db, filter, page))
    },
    tasksBehind: async (filter, after, limit) => {
      await readModels.requireCurrent('tasks')
      return withQueryTimeout(NARROW, () => tasksBehind(db, filter, after, limit))
    },
    ...failureReads(deps),
    changes: (filter, page) => withQueryTimeout(NARROW, () => listChanges(db, filter, page)),
    changeActors: (name, tenantId) =>
      withQueryTimeout(NARROW, () => actorsNamed(db, name, tenantId)),
    tokenOwners: (ids) => tokenOwners(db, ids),
    settledAmounts: (ids) => settledAmounts(db, ids),
    names: (of) => readNames(db, of),
    usage: async (query) => {
      const groups = await withQueryTimeout(NARROW, () =>
        usage(db, { ...query, limit: MAX_GROUPS + 1 }),
      )
      if (groups.length > MAX_GROUPS)
        throw new RequestError('query_too_long', `more than ${MAX_GROUPS} items: ${NARROW}`)
      return groups
    },
    ...settingReads(settingsOf),
    usageExtent: (tenantId) => withQueryTimeout(NARROW, () => usageExtent(db, { tenantId })),
  }
}
