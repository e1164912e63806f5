import { listAssetsFor, listGroupsFor } from '../../../projections/assets/query.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import {
  exportCredits,
  exportLines,
  exportRefunds,
  ledgerTenants,
} from '../../../projections/ledger/query.ts'
import { historyOf } from '../../../projections/timeline/query.ts'
import { type LineFiles, MAX_FILE_LINES } from '../../app/finance/line-files/files.ts'
import { findReceipt, isFinal } from '../../app/finance/receipts/find.ts'
import { findLife, isLifeFinal } from '../../app/support/life.ts'
import type { ReadModels } from '../../app/read-models/read-models.ts'
import { createSearch, type Search, type SearchDeps } from '../../app/support/search.ts'
import { RequestError } from '../kit/request-error.ts'
import { positionsOf } from './as-of.ts'
import { withQueryTimeout } from '../kit/routes/queries.ts'
import { linesInOrder } from './ledger-lines.ts'
import type { HistoryItem, LineExports, QueryReads } from './reads.ts'
import type { Visible } from './scope.ts'
import { readAccountHistory } from '../../app/accounts/account-history.ts'
import type { AccountSource } from '../../app/accounts/account-state.ts'
import { createReadBalances } from '../../app/finance/balances.ts'
import { pastBalancesOf } from '../../app/finance/past-balances.ts'
import {
  createStatementDocuments,
  type DocumentDeps,
} from '../../app/finance/statements/document/documents.ts'
import type { Statements } from '../../app/finance/statements/types.ts'
import type { Funds } from '../../app/spending/funds.ts'
import { accountReads } from './account-reads.ts'
import type { Billing } from './focus/table.ts'
import { createKnownNames } from './known-names.ts'
import type { Queries } from './services.ts'
import { findUrlsEnd } from '../../app/tasks/result-urls.ts'
import type { ExpiryCatalog } from '../../domain/catalog/latest-end.ts'
import type { Catalog, ServedModel } from '../../domain/catalog/catalog.ts'
import type { AccountSettings } from '../../domain/account/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { formatAmount } from '../../kernel/money.ts'

/**
 * How the query API reads the read models in Postgres: each read has a timeout, refuses a read model that is
 * out of date, and waits for one that is behind where an answer could otherwise deny what the log has.
 */

/** Maximum time for which the history of an unknown id, or a file, waits for a read model. */
const CONFIRM_TIMEOUT_MS = 3_000

/** A task has about ten events; a request that lists tasks refreshes a page of them. */
const MAX_HISTORY_ITEMS = 10_000

/** The events that these histories show: those of tokens and accounts are left out. */
const shownStreams =
  /^(?:task|journal|file|upload|voice|asset|assetgroup|verification|notes|views)-/

interface ProjectionReadsDeps {
  /** The statements have a timeout. */
  readonly db: Queryable
  /** Position of the log's last event, undefined while it is empty. */
  readonly logEnd: () => Promise<bigint | undefined>
  readonly readModels: Pick<ReadModels, 'requireCurrent'>
  readonly lineFiles: LineFiles
  readonly catalog: ExpiryCatalog
  readonly urlsEndOf: Parameters<typeof findLife>[3]['urlsEndOf']
}

const NARROW_LINES = 'narrow it by tenant_id, from and to, or ask for a smaller limit'
const NARROW_ASSETS = 'narrow it by tenant_id, group_id or asset_id'
const NARROW_PERIODS = 'narrow it by tenant_id and currency'
const NARROW_HISTORY = 'try again later'
const NARROW_SEARCH = 'search for more characters of fewer ids'

const NARROW_EXPORT = 'narrow it by tenant_id, from and to'

/** Pages of an export, each with the timeout of a query. */
async function* timedPages<Page>(
  readModels: Pick<ReadModels, 'requireCurrent'>,
  pages: AsyncIterable<Page>,
): AsyncGenerator<Page> {
  await readModels.requireCurrent('ledger')
  const rest = pages[Symbol.asyncIterator]()
  for (;;) {
    const next = await withQueryTimeout(NARROW_EXPORT, () => rest.next())
    if (next.done === true) return
    yield next.value
  }
}

/** The ledger for files, over the read models in Postgres. */
export function ledgerExports({
  db,
  readModels,
}: Pick<ProjectionReadsDeps, 'db' | 'readModels'>): LineExports {
  return {
    lines: (filter, page) => timedPages(readModels, exportLines(db, filter, page)),
    refunds: (filter) => timedPages(readModels, exportRefunds(db, filter)),
    credits: (filter) => timedPages(readModels, exportCredits(db, filter)),
  }
}

const TOO_MANY_LINES = `A file of Parquet has at most ${MAX_FILE_LINES.toLocaleString('en')} lines: ${NARROW_EXPORT}, or let the operator export it`
function parquetOf({
  readModels,
  lineFiles,
}: Pick<ProjectionReadsDeps, 'readModels' | 'lineFiles'>): QueryReads['parquet'] {
  return async (filter, page, callerGone) => {
    await readModels.requireCurrent('ledger')
    const made = await withQueryTimeout(NARROW_EXPORT, () =>
      lineFiles.parquet({ filter, ...page }, callerGone),
    )
    if (made !== undefined) return made
    throw new RequestError('query_too_long', TOO_MANY_LINES)
  }
}

async function findHistory(
  db: Queryable,
  id: string,
  scope: Visible,
): Promise<readonly HistoryItem[]> {
  const { items } = await withQueryTimeout(NARROW_HISTORY, () =>
    historyOf(db, id, scope, { limit: MAX_HISTORY_ITEMS }),
  )
  return items.filter(({ stream }) => shownStreams.test(stream))
}

/** The queries over the read models in Postgres. */
export function projectionReads(deps: ProjectionReadsDeps): QueryReads {
  const { db, logEnd, readModels, catalog } = deps
  const find = (id: string, scope: Visible) => findHistory(db, id, scope)
  /** Waits until the read model has processed everything that the log had when the query began. */
  const confirmed = async (name: string, position: bigint | undefined): Promise<boolean> => {
    if (position === undefined) return false
    if (await waitForPosition(db, name, position, CONFIRM_TIMEOUT_MS)) return true
    throw new RequestError('outage', 'The history cannot be confirmed at the moment')
  }
  const ledgerPosition = positionsOf('ledger', { db, logEnd, readModels })
  /**
   * Reads what depends on the timeline and the ledger as of a position, by default of all that the log has. A read
   * model that is behind must not answer that an item does not exist, that it is still running, or that it has no
   * refunds. While the log is away, what has ended is shown as of the position of the ledger.
   */
  const confirmedRead = async <Found extends object>(
    asked: bigint | undefined,
    find: (asOf: bigint) => Promise<Found | undefined>,
    isFinal: (found: Found | undefined) => boolean,
  ): Promise<Found | undefined> => {
    await readModels.requireCurrent('timeline')
    let away: DomainError | undefined
    const end = () =>
      logEnd().catch((error: unknown) => {
        if (!isDomainError(error, 'log_unavailable')) throw error
        away = error
        return ledgerPosition(undefined)
      })
    const asOf = asked ?? (await end())
    if (asOf === undefined) return undefined
    await ledgerPosition(asOf)
    const lookUp = () => withQueryTimeout(NARROW_HISTORY, () => find(asOf))
    const found = await lookUp()
    if (isFinal(found)) return found
    if (away !== undefined) throw away
    return (await confirmed('timeline', asOf)) ? lookUp() : found
  }
  return {
    receipt: async (id, scope, asked) =>
      (await confirmedRead(asked, (asOf) => findReceipt(db, id, scope, { catalog, asOf }), isFinal))
        ?.receipt,
    life: (id, scope) =>
      confirmedRead(undefined, (asOf) => findLife(db, id, scope, { ...deps, asOf }), isLifeFinal),
    exports: ledgerExports({ db, readModels }),
    parquet: parquetOf(deps),
    ledgerPosition,
    listLines: async (filter, page) => {
      await readModels.requireCurrent('ledger')
      return withQueryTimeout(NARROW_LINES, () => linesInOrder(db, filter, page))
    },
    listAssets: async (search, page) => {
      await readModels.requireCurrent('assets')
      return withQueryTimeout(NARROW_ASSETS, () => listAssetsFor(db, search, page))
    },
    listAssetGroups: async (search, page) => {
      await readModels.requireCurrent('assets')
      return withQueryTimeout(NARROW_ASSETS, () => listGroupsFor(db, search, page))
    },
    history: async (id, scope) => {
      await readModels.requireCurrent('timeline')
      const found = await find(id, scope)
      if (found.length > 0) return found
      // Before a 404 the read model must have processed everything that the log has now.
      return (await confirmed('timeline', await logEnd())) ? find(id, scope) : []
    },
  }
}

/** The issuer of files of charges, and what tenants were and owned at a position of the log. */
export function billingOf(
  issuer: string,
  {
    log,
    db,
    readModels,
  }: Pick<ProjectionReadsDeps, 'db' | 'readModels'> & Pick<AccountSource, 'log'>,
): Billing {
  return {
    issuer,
    requirePrices: async (asOf) => {
      await readModels.requireCurrent('prices')
      if (await waitForPosition(db, 'prices', asOf, CONFIRM_TIMEOUT_MS)) return
      throw new DomainError('read_model_behind', 'the prices have not reached this position', {})
    },
    accountAt: (tenantId, asOf) => readAccountHistory({ log }, tenantId, asOf),
    balancesAt: async (tenantId, asOf) => {
      const moment = { currency: undefined, toMs: undefined, asOf }
      const balances = await withQueryTimeout(NARROW_EXPORT, () =>
        pastBalancesOf(db, [tenantId], moment),
      )
      return (balances.get(tenantId) ?? []).map(
        ({ currency, grantedPico, adjustedPico, settledPico }) => ({
          currency,
          amount: formatAmount(grantedPico + adjustedPico - settledPico),
        }),
      )
    },
    tenants: () => ledgerTenants(db),
  }
}

/** Months of accounts and their files. Use cases that close months read the same without a timeout. */
function statementReads({
  statements,
  readModels,
  ...deps
}: Pick<ProjectionReadsDeps, 'readModels'> &
  DocumentDeps & { readonly statements: Statements }): Queries['statements'] {
  const timed = async <Found>(read: () => Promise<Found>): Promise<Found> => {
    for (const name of ['statements', 'ledger']) await readModels.requireCurrent(name)
    return withQueryTimeout(NARROW_PERIODS, read)
  }
  const documents = createStatementDocuments({ ...deps, statements })
  return {
    board: (input) => timed(() => statements.board(input)),
    boardPage: (input) => timed(() => statements.boardPage(input)),
    months: (account) => timed(() => statements.months(account)),
    boundsOf: (of) => timed(() => statements.boundsOf(of)),
    postings: (of) => timedPages(readModels, statements.postings(of)),
    periodOfLine: (line) => timed(() => statements.periodOfLine(line)),
    proofOfLine: (line) => timed(() => statements.proofOfLine(line)),
    documents: {
      find: (of) => timed(() => documents.find(of)),
      issued: (of) => timed(() => documents.issued(of)),
      voided: (of) => timed(() => documents.voided(of)),
      preview: (of) => timed(() => documents.preview(of)),
      users: (period, limit) => timed(() => documents.users(period, limit)),
      paper: documents.paper,
    },
  }
}

/** All reads of finance, support and consoles, over one database. */
export function readsOver(deps: {
  /** The statements have a timeout. */
  readonly db: Queryable
  readonly log: DocumentDeps['log']
  readonly logEnd: () => Promise<bigint | undefined>
  readonly readModels: Pick<ReadModels, 'requireCurrent'>
  readonly funds: Pick<Funds, 'report'>
  readonly catalog: Catalog
  readonly clock: Clock
  readonly served: readonly ServedModel[]
  /** Name of the gateway in files of charges. */
  readonly issuer: string
  readonly settingsOf: (tenantId: string) => Promise<AccountSettings>
  readonly statements: Statements
  readonly runJob: DocumentDeps['runJob']
  readonly lineFiles: LineFiles
}): Queries {
  const balances = createReadBalances(deps)
  return {
    reads: projectionReads({ ...deps, urlsEndOf: (taskId) => findUrlsEnd(deps.db, taskId) }),
    accounts: accountReads({ ...deps, balances }),
    knownNames: createKnownNames(deps),
    billing: billingOf(deps.issuer, deps),
    statements: statementReads(deps),
  }
}

/** The search of support, over the read models in Postgres. */
export function searchOver(
  deps: SearchDeps & { readonly readModels: Pick<ReadModels, 'requireCurrent'> },
): Search {
  const search = createSearch(deps)
  return async (request) => {
    for (const name of ['timeline', 'ledger']) await deps.readModels.requireCurrent(name)
    return withQueryTimeout(NARROW_SEARCH, () => search(request))
  }
}
