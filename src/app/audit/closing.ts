import { allRows, type AuditedRow } from '../../../projections/engine/audited-rows.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { ledgerTables } from '../../../projections/ledger/query.ts'
import { taskTables } from '../../../projections/tasks/query.ts'
import { balanceRow, type AuditedBalanceKey, type Balances } from './balances.ts'
import { differencesOf, rowDiffers, rowMissing, rowUnexplained, type Expected } from './compare.ts'
import type { Findings } from './findings.ts'
import type { LineChain } from './line-chain.ts'
import { scopeRow, type TaskPlaces } from './task-places.ts'

/**
 * Rows that sum up everything before them, read at one moment. They are compared when the log was
 * read exactly up to the position of their read model at that moment.
 */
export type Closing =
  | {
      readonly model: 'ledger'
      readonly position: bigint
      readonly balances: readonly AuditedRow[]
      readonly chain: readonly AuditedRow[]
    }
  | {
      readonly model: 'tasks'
      readonly position: bigint
      readonly scopes: readonly AuditedRow[]
    }

/** Reads the closing rows of a read model: rows by tenant, and the head of the chain. */
export async function readClosing(
  db: Queryable,
  model: Closing['model'],
  position: bigint,
): Promise<Closing> {
  if (model === 'tasks') return { model, position, scopes: await allRows(db, taskTables.scopes) }
  const balances = await allRows(db, ledgerTables.balances)
  return { model, position, balances, chain: await allRows(db, ledgerTables.chain) }
}

/** Compares balances with the log; returns the number of rows. */
export function compareBalances(
  rows: readonly AuditedRow[],
  balances: Balances,
  unapplied: Balances,
  findings: Findings,
): number {
  const table = ledgerTables.balances.name
  const seen = new Set<string>()
  for (const row of rows) {
    const key = { tenantId: String(row['tenant_id']), currency: String(row['currency']) }
    seen.add(nameOf(key))
    const balance = balances.get(key)
    const name = { table, key: nameOf(key) }
    if (balance === undefined) {
      findings.push(rowUnexplained(name, row))
      continue
    }
    const differences = differencesOf(balanceRow(key, balance), row)
    const missed = unapplied.get(key)
    const excused = missed && differencesOf(balanceRow(key, balance, missed), row).length === 0
    if (differences.length > 0 && !excused) findings.push(rowDiffers(name, differences))
  }
  for (const { balance, ...key } of balances.entries()) {
    const excused = unapplied.get(key) && isEmpty(balanceRow(key, balance, unapplied.get(key)))
    if (!seen.has(nameOf(key)) && !excused)
      findings.push(rowMissing({ table, key: nameOf(key) }, balanceRow(key, balance)))
  }
  return rows.length
}

function nameOf({ tenantId, currency }: AuditedBalanceKey): string {
  return `${tenantId} ${currency}`
}

function isEmpty({ tenant_id: _tenant, currency: _currency, ...amounts }: Expected): boolean {
  return Object.values(amounts).every((amount) => amount === '0')
}

/** Compares the head of the chain: it must match the log, or the rows from a reported break on. */
export function compareChain(
  [row]: readonly AuditedRow[],
  chain: LineChain,
  findings: Findings,
): void {
  const { lines, hash } = chain.head
  const name = { table: ledgerTables.chain.name, key: 'head' }
  const expected = { seq: lines, hash }
  if (row === undefined) {
    findings.push(rowMissing(name, expected))
    return
  }
  const differences = differencesOf(expected, row)
  // The chain continues from a broken line, and that break is a finding already.
  const follows = row['hash'] === chain.storedHead && chain.brokenAt !== undefined
  if (differences.length > 0 && !follows) findings.push(rowDiffers(name, differences))
}

/** Compares the number of tasks in each tenant's lists. */
export function compareScopes(
  rows: readonly AuditedRow[],
  places: TaskPlaces,
  findings: Findings,
): void {
  const table = taskTables.scopes.name
  const byId = new Map(rows.map((row) => [String(row['scope_id']), row]))
  for (const scope of places.scopes()) {
    const row = byId.get(String(scope.scopeId))
    byId.delete(String(scope.scopeId))
    const name = { table, key: `${scope.tenantId} ${scope.family}` }
    if (row === undefined) {
      findings.push(rowMissing(name, scopeRow(scope)))
      continue
    }
    const differences = differencesOf(scopeRow(scope), row)
    const without = { ...scopeRow(scope), next_seq: scope.nextSeq - scope.missing }
    if (differences.length > 0 && differencesOf(without, row).length > 0)
      findings.push(rowDiffers(name, differences))
  }
  for (const [id, row] of byId) findings.push(rowUnexplained({ table, key: `scope ${id}` }, row))
}
