import type { LineFiles } from '../../../src/app/finance/line-files/files.ts'
import type { AssetRow, GroupRow, GroupSearch } from '../../../projections/assets/query.ts'
import { type Cells, lineCell, PAGE_ROWS } from '../../../projections/ledger/query.ts'
import type {
  HistoryItem,
  LedgerFilter,
  LedgerLine,
  LineExports,
  QueryReads,
} from '../../../src/api/query/reads.ts'
import type { Receipt } from '../../../src/app/finance/receipts/types.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'

/** Makes no files of Parquet. */
export const noLineFiles: LineFiles = {
  parquet: () => Promise.reject(new Error('no file is asked for')),
}

/** Ledger lines and histories in memory, newest line first. */
export class MemoryLedger implements QueryReads {
  lines: LedgerLine[] = []
  /** Newest first. */
  assets: readonly AssetRow[] = []
  groups: readonly GroupRow[] = []
  readonly histories = new Map<string, readonly HistoryItem[]>()
  readonly filters: LedgerFilter[] = []
  readonly receipts = new Map<string, Receipt>()
  /** How many pages were read. */
  pagesRead = 0
  /** An export fails behind so many. */
  failsAfterPages: number | undefined
  /** What it waits for before it fails. */
  beforeFailure: () => Promise<void> = () => Promise.resolve()
  failure: unknown

  add(part: Partial<LedgerLine> = {}): LedgerLine {
    const n = this.lines.length + 1
    const line: LedgerLine = {
      lineId: `line_${String(n).padStart(6, '0')}`,
      settledAtMs: Date.parse('2026-03-04T05:06:07Z') + n,
      tenantId: 'tenant_1',
      userId: 'user_1',
      tokenId: 'tok_1',
      sourceId: `video_${n}`,
      nativeId: `cgt-${n}`,
      surface: 'provA.tasks',
      model: 'overseas-video-2-0-mini',
      sku: 'overseas-video-2-0-mini-novideo',
      rule: 'video-a/2.0',
      quantity: 108_900,
      unit: 'token',
      price: '3.5',
      per: 1_000_000,
      currency: 'USD',
      amount: '0.38115',
      priceBookVersion: '2026-01',
      measurement: 'reported',
      requestId: 'req_1',
      position: String(n),
      adjusted: '0',
      accountPrices: null,
      tags: null,
      endUser: null,
      ...part,
    }
    this.lines.unshift(line)
    return line
  }

  receipt = (id: string) => Promise.resolve(this.receipts.get(id))

  life = () => Promise.resolve(undefined)

  #matching(filter: LedgerFilter): readonly LedgerLine[] {
    this.filters.push(filter)
    if (this.failure !== undefined) throw this.failure
    return this.lines.filter(
      (line) =>
        (filter.tenantId ?? line.tenantId) === line.tenantId &&
        (filter.userIds?.includes(line.userId) ?? true) &&
        (filter.sku ?? line.sku) === line.sku &&
        (filter.model ?? line.model) === line.model &&
        (filter.currency ?? line.currency) === line.currency &&
        (filter.sourceId ?? line.sourceId) === line.sourceId &&
        BigInt(line.position) <= (filter.asOf ?? BigInt(line.position)) &&
        line.settledAtMs >= (filter.fromMs ?? 0) &&
        line.settledAtMs < (filter.toMs ?? Number.POSITIVE_INFINITY),
    )
  }

  ledgerPosition: QueryReads['ledgerPosition'] = async (asked) => {
    await Promise.resolve()
    if (this.failure !== undefined) throw this.failure
    return asked ?? BigInt(this.lines.length)
  }

  listLines: QueryReads['listLines'] = async (filter, { after, limit }) => {
    await Promise.resolve()
    this.pagesRead += 1
    const found = this.#matching(filter)
    const start = after === undefined ? 0 : found.findIndex((line) => line.lineId === after) + 1
    const items = found.slice(start, start + limit)
    return { items, next: start + limit < found.length ? items.at(-1)?.lineId : undefined }
  }

  /** Lines alone, as text; no refund and no credit is kept here. */
  readonly exports: LineExports = {
    lines: (filter, page) => this.#exported(filter as LedgerFilter, page),
    refunds: () => this.#nothing(),
    credits: () => this.#nothing(),
  }

  /** Bytes that stand for a file of Parquet. */
  readonly parquet: QueryReads['parquet'] = () =>
    Promise.resolve({ sizeBytes: 4, parts: this.#parts() })

  async *#parts(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('PAR1')
  }

  async *#exported(
    filter: LedgerFilter,
    { after, limit = Number.POSITIVE_INFINITY }: Parameters<LineExports['lines']>[1],
  ): AsyncGenerator<readonly Cells[]> {
    let next = after
    for (let left = limit; left > 0; left -= PAGE_ROWS) {
      if (this.pagesRead === this.failsAfterPages) {
        await this.beforeFailure()
        throw new Error('the database is gone')
      }
      const page = await this.listLines(filter, { after: next, limit: Math.min(left, PAGE_ROWS) })
      yield page.items.map(toCells)
      if (page.next === undefined) return
      next = page.next
    }
  }

  async *#nothing(): AsyncGenerator<readonly Cells[]> {}

  listAssets: QueryReads['listAssets'] = async (search, { after, limit }) => {
    await Promise.resolve()
    this.pagesRead += 1
    const found = this.assets.filter(
      (asset) =>
        liesIn(search, asset) &&
        (search.assetId ?? asset.assetId) === asset.assetId &&
        (after === undefined || asset.assetId < after),
    )
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? items.at(-1)?.assetId : undefined }
  }

  listAssetGroups: QueryReads['listAssetGroups'] = async (search, { after, limit }) => {
    await Promise.resolve()
    const found = this.groups.filter(
      (group) => liesIn(search, group) && (after === undefined || group.groupId < after),
    )
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? items.at(-1)?.groupId : undefined }
  }

  history: QueryReads['history'] = async (id, scope) => {
    await Promise.resolve()
    if (this.failure !== undefined) throw this.failure
    const found = this.histories.get(id) ?? []
    return found.filter(
      ({ tenantId, userId }) =>
        (scope.tenantId ?? tenantId) === tenantId &&
        (scope.userIds?.includes(userId ?? '') ?? true),
    )
  }
}

function liesIn(search: Omit<GroupSearch, 'state'>, row: AssetRow | GroupRow): boolean {
  return (
    (search.tenantId ?? row.tenantId) === row.tenantId &&
    (search.userIds?.includes(row.userId) ?? true) &&
    (search.groupType ?? row.groupType) === row.groupType &&
    (search.region ?? row.region) === row.region &&
    (search.projectName ?? row.projectName) === row.projectName &&
    (search.groupId ?? row.groupId) === row.groupId &&
    (search.nativeId ?? row.nativeId) === row.nativeId
  )
}

function toCells(line: LedgerLine): Cells {
  const shown: Readonly<Record<string, unknown>> = {
    ...line,
    settledAt: new Date(line.settledAtMs).toISOString().replace('Z', '000Z'),
    net: formatAmount(parseAmount(line.amount) - parseAmount(line.adjusted)),
    tenantName: `name of ${line.tenantId}`,
    hash: 'ed249eef',
  }
  return Object.keys(lineCell).map((name) => {
    const member = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    const value = shown[member] ?? null
    return typeof value === 'number' ? String(value) : (value as string | null)
  })
}
