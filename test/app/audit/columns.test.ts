import t from 'tap'
import type { Column } from '../../../projections/engine/column.ts'
import type { DeclaredTable } from '../../../projections/engine/table.ts'
import { allProjections } from '../../../projections/registry.ts'
import type { Finding } from '../../../src/app/audit/findings.ts'
import { startAudited, tampering } from './support/audited.ts'

/** Rows are changed by hand as the records of their tables say: whatever can be changed, the audit finds. */

const audited = await startAudited(t)
await audited.engine.stop()
const { pool } = audited
const changed = await tampering(t, audited)

interface DeclaredColumn {
  readonly table: DeclaredTable
  readonly name: string
  readonly column: Column
}

const nameOf = ({ table, name }: DeclaredColumn): string => `${table.name}.${name}`
/** The name that findings have. */
const shownName = ({ name, record }: DeclaredTable): string => record.view ?? name
const tables = allProjections.flatMap((projection) => projection.tables ?? [])
const columns: readonly DeclaredColumn[] = tables.flatMap((table) =>
  Object.entries(table.record.columns).map(([name, column]) => ({ table, name, column })),
)
/** The chain has one row, and a constraint keeps its key at 1. */
const isOnlyRow = ({ record }: DeclaredTable): boolean => record.columns['id']?.type === 'int'

/** Which rows are changed, where not any: a count of nothing is no count. */
const changedRows: Readonly<Record<string, string>> = {
  'tasks.counts': 'n > 0',
  'assets.counts': 'n > 0',
  'ledger.adjustments.grant_id': 'grant_id is not null',
}

/** Another value of a column. */
function another({ name, column }: DeclaredColumn): string {
  const { type, constraint = '' } = column
  const allowed = [...constraint.matchAll(/'(\w+)'/g)].map(([, value]) => value)
  if (constraint.includes(' in ('))
    return `case ${name} when '${allowed[0]}' then '${allowed[1]}' else '${allowed[0]}' end`
  switch (type.replace(/\(.*| collate .*/, '')) {
    case 'text':
      return `coalesce(${name}, '') || 'x'`
    case 'boolean':
      return `not coalesce(${name}, false)`
    case 'smallint':
      return '9'
    case 'int':
    case 'bigint':
    case 'numeric':
      return `coalesce(${name}, 0) + 1000000007`
    case 'timestamptz':
      return `coalesce(${name}, now()) + interval '1 second'`
    case 'date':
      return `${name} + 1`
    case 'uuid':
      return 'gen_random_uuid()'
    case 'bytea':
      return `decode(repeat('ab', 32), 'hex')`
    case 'text[]':
      return `array['x']`
    case 'json':
    case 'jsonb':
      return `'{"x": 1}'`
    default:
      throw new Error(`say what another value of the type ${type} is`)
  }
}

/** A row of a table, one that has a value in a column if any has: where it is, and its cells as text. */
async function rowOf(table: DeclaredTable, column?: string) {
  const key = `${table.name}.${column}`
  const which = changedRows[key] ?? changedRows[table.name] ?? 'true'
  const order = column === undefined ? '' : `${column} is null,`
  const { rows } = await pool.query<{ ctid: string; cells: Readonly<Record<string, unknown>> }>(
    `select ctid::text, to_jsonb(t) as cells from ${table.name} t where ${which}
     order by ${order} ctid desc limit 1`,
  )
  const [row] = rows
  if (row === undefined) throw new Error(`${table.name} has no row to change`)
  return row
}

/** Whether a finding is about a row: it has its key, or the position of its event. */
function isOf(
  { key, position }: Pick<Finding, 'key' | 'position'>,
  { record }: DeclaredTable,
  cells: Readonly<Record<string, unknown>>,
): boolean {
  if (position !== '' && position === String(cells['position'])) return true
  const named = record.key.filter((name) => record.columns[name]?.type.startsWith('text') ?? false)
  // A list of tasks is called by its tenant and family, its number is the program's.
  const names = named.length > 0 || !('tenant_id' in cells) ? named : ['tenant_id']
  const isNumbered = named.length === 0 && key.includes(String(cells[record.key[0] ?? '']))
  return isNumbered || names.every((name) => key.includes(String(cells[name])))
}

const quote = (text: unknown): string => `'${String(text).replaceAll(`'`, `''`)}'`

/** Rows refer to rows of other tables: they are changed as a superuser could. */
const byHand = (statements: readonly string[]): string =>
  `set session_replication_role = replica; ${statements.join(';')};
   set session_replication_role = default`

/** Tables that are compared once others are right, in this order. */
const later = [
  ['prices.entries', 'assets.counts', 'tasks.counts'],
  ['ledger.summed_days', 'ledger.summed_hours', 'ledger.summed_quarters'],
  ['ledger.totals'],
]

/** One column of each table at a time, so that not every column needs an audit of its own. */
function roundsOf(all: readonly DeclaredColumn[]): readonly (readonly DeclaredColumn[])[] {
  const rounds: DeclaredColumn[][] = []
  const taken = new Map<DeclaredTable, number>()
  for (const each of all) {
    const nth = taken.get(each.table) ?? 0
    taken.set(each.table, nth + 1)
    ;(rounds[nth] ??= []).push(each)
  }
  return rounds
}

t.test('every table of the read models is declared', async (t) => {
  const schemas = allProjections.map(({ name }) => name)
  const { rows } = await pool.query<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables
     where schemaname = any($1::text[]) order by 1`,
    [schemas],
  )
  t.same(
    rows.map(({ name }) => name),
    tables.map(({ name }) => name).sort(),
  )
  t.ok(columns.length > 250, `${columns.length} columns`)
})

t.test(
  'a change of any column that is not operational is found, with row and column',
  async (t) => {
    const compared = columns.filter(
      ({ column, table, name }) => !column.operational && !(isOnlyRow(table) && name === 'id'),
    )
    const among = (names: readonly string[]) =>
      compared.filter((of) => names.includes(of.table.name))
    const first = compared.filter(({ table }) => !later.flat().includes(table.name))
    for (const round of [first, ...later.map(among)].flatMap(roundsOf)) {
      const rows = await Promise.all(round.map(({ table, name }) => rowOf(table, name)))
      const statements = round.map((each, n) => {
        const { table, name } = each
        const sets =
          // An adjustment is of a line or of a grant.
          nameOf(each) === 'ledger.adjustments.line_id'
            ? `line_id = 'x', grant_id = null`
            : `${name} = ${another(each)}`
        return `update ${table.name} set ${sets} where ctid = ${quote(rows[n]?.ctid)}`
      })
      const { findings } = await changed(byHand(statements))
      for (const [n, { table, name }] of round.entries()) {
        const [model] = table.name.split('.')
        const isColumn = (field: string): boolean => /^\w+/.exec(field)?.[0] === name
        const ofRow = findings.filter(
          (finding) =>
            (finding.table === shownName(table) || finding.code === 'event_not_applied') &&
            finding.table.startsWith(model ?? '') &&
            isOf(finding, table, rows[n]?.cells ?? {}),
        )
        const found = ofRow.some(
          ({ code, differences = [] }) =>
            code !== 'row_differs' || differences.some(({ field }) => isColumn(field)),
        )
        // Another key is another row: this one is missing.
        const isKey = table.record.key.includes(name) && ofRow.length > 0
        t.ok(found || isKey, `${table.name}.${name}`)
      }
    }
  },
)

/** What a row is besides its key: no two may have it. */
const unique: Readonly<Record<string, string>> = {
  'ledger.lines': 'line_id',
  'tasks.scopes': 'tenant_id',
}

/** A row like another one, of a key that is no row's. */
function forged({ name: table, record }: DeclaredTable, cells: Readonly<Record<string, unknown>>) {
  const names = [record.key.at(-1) ?? '', unique[table] ?? []].flat()
  const other = names.map((name) => {
    const { [name]: value } = cells
    return [name, typeof value === 'number' ? value + 1_000_000_007 : `${String(value)}x`]
  })
  return { ...cells, ...Object.fromEntries(other) }
}

for (const table of tables.filter((each) => !isOnlyRow(each))) {
  const { name, record } = table
  t.test(`one finding names a row of ${name} that is gone, forged or moved`, async (t) => {
    const { ctid, cells } = await rowOf(table)
    const where = `where ctid = ${quote(ctid)}`
    const found = async (sql: string, row: typeof cells, what: string): Promise<Finding[]> => {
      const { findings, findingsInAll } = await changed(byHand([sql]))
      t.equal(findingsInAll, 1, `${what}: ${JSON.stringify(findings.slice(0, 3))}`)
      t.ok(
        findings.every((one) => one.table === shownName(table) && isOf(one, table, row)),
        `${what}: it is named`,
      )
      return [...findings]
    }
    await found(`delete from ${name} ${where}`, cells, 'gone')
    const row = forged(table, cells)
    await found(
      `insert into ${name} select (jsonb_populate_record(t, ${quote(JSON.stringify(row))})).*
       from ${name} t ${where}`,
      row,
      'forged',
    )
    const isKey = [...record.key, unique[name]].includes('tenant_id')
    if (isKey || !('tenant_id' in cells)) return
    const [tenant] = ['tenant_0', 'tenant_1'].filter((one) => one !== cells['tenant_id'])
    const sets = `tenant_id = ${quote(tenant)}`
    t.match(await found(`update ${name} set ${sets} ${where}`, cells, 'moved'), [
      { differences: [{ field: 'tenant_id', log: cells['tenant_id'], stands: tenant }] },
    ])
  })
}
