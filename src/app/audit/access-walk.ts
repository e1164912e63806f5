import type { Pool } from 'pg'
import {
  nextKeys,
  rowsByKey,
  type AuditedRow,
  type AuditedTable,
} from '../../../projections/engine/audited-rows.ts'
import { accessTables } from '../../../projections/access/query.ts'
import { timelineTables } from '../../../projections/timeline/query.ts'
import { accountStream } from '../../domain/account/events.ts'
import { tokenStream } from '../../domain/token/events.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { differencesOf, rowDiffers, rowMissing, rowUnexplained } from './compare.ts'
import { accountRows, tokenRows, type ExpectedRows } from './expected-access.ts'
import type { Findings } from './findings.ts'
import { inSnapshot } from './snapshot.ts'
import { readTo } from './streams.ts'

/** Tenants or tokens looked at in one snapshot. */
const PAGE_KEYS = 50

export interface WalkDeps {
  readonly pool: Pool
  readonly log: EventLog
  readonly findings: Findings
}

/** A table whose rows have a unique column within a tenant or a token. */
export interface Told {
  readonly table: AuditedTable
  readonly by: string
}

export const tenants: Told = { table: accessTables.tenants, by: 'tenant_id' }
const users: Told = { table: accessTables.users, by: 'user_id' }
export const tokens: Told = { table: accessTables.tokens, by: 'token_id' }
const secrets: Told = { table: accessTables.secrets, by: 'secret_hash' }
/** The timeline's row by which it finds the history of a token or another source. */
export const sources: Told = { table: timelineTables.sources, by: 'source_id' }
/** For sources that no provider has a name for. */
export const unnamedUpstream = { native_id: null }

/** Rows of these tables by tenant or token, for a page of them, at one moment. */
async function readPage(pool: Pool, told: readonly Told[], column: string, after: string) {
  return inSnapshot(pool, async ({ db, position }) => {
    const columns = told.map(({ table }) => ({ table: table.name, column }))
    const keys = await nextKeys(db, columns, { after, limit: PAGE_KEYS })
    const rows = new Map<Told, readonly AuditedRow[]>()
    for (const each of told) rows.set(each, await rowsByKey(db, each.table, column, keys))
    const of = (each: Told, key: string): readonly AuditedRow[] =>
      (rows.get(each) ?? []).filter((row) => row[column] === key)
    const found = await rowsByKey(db, sources.table, sources.by, keys)
    const bySource = new Map(found.map((row) => [String(row[sources.by]), row]))
    return { keys, of, bySource, position: position('access') }
  })
}

/** Compares the rows of one owner with the log. */
export function judge(
  findings: Findings,
  { table: { name: table }, by }: Told,
  expected: ExpectedRows,
  rows: readonly AuditedRow[],
  owner: string,
): void {
  const nameOf = (told: string): string => (told === owner ? owner : `${owner} ${told}`)
  const standing = new Map(rows.map((row) => [String(row[by]), row]))
  for (const [told, says] of expected) {
    const row = standing.get(told)
    standing.delete(told)
    const name = { table, key: nameOf(told), position: says['position'] }
    const differences = row ? differencesOf(says, row) : []
    if (row === undefined) findings.push(rowMissing(name, says))
    else if (differences.length > 0) findings.push(rowDiffers(name, differences))
  }
  for (const [told, row] of standing)
    findings.push(rowUnexplained({ table, key: nameOf(told), position: row['position'] }, row))
}

/** Compares tenants and users with the log's accounts; the pass over the log finds missing ones. */
export async function walkTenants({ pool, log, findings }: WalkDeps): Promise<number> {
  let compared = 0
  for (let after: string | undefined = ''; after !== undefined;) {
    const page = await readPage(pool, [tenants, users], 'tenant_id', after)
    for (const id of page.keys) {
      const rows = await accountRows(readTo(log, accountStream(id), page.position))
      const standing = page.of(tenants, id)
      compared += standing.length
      if (standing.length > 0) judge(findings, tenants, rows.tenants, standing, id)
      judge(findings, users, rows.users, page.of(users, id), id)
    }
    after = page.keys.length < PAGE_KEYS ? undefined : page.keys.at(-1)
  }
  return compared
}

/** Compares tokens and their secrets with their streams. */
export async function walkTokens({ pool, log, findings }: WalkDeps): Promise<number> {
  let compared = 0
  for (let after: string | undefined = ''; after !== undefined;) {
    const page = await readPage(pool, [tokens, secrets], 'token_id', after)
    for (const id of page.keys) {
      const rows = await tokenRows(readTo(log, tokenStream(id), page.position))
      const standing = page.of(tokens, id)
      compared += standing.length
      const expected = new Map(rows.token ? [[id, rows.token]] : [])
      if (standing.length > 0) judge(findings, tokens, expected, standing, id)
      judge(findings, secrets, rows.secrets, page.of(secrets, id), id)
      const source = page.bySource.get(id)
      if (source) judge(findings, sources, new Map([[id, unnamedUpstream]]), [source], id)
    }
    after = page.keys.length < PAGE_KEYS ? undefined : page.keys.at(-1)
  }
  return compared
}
