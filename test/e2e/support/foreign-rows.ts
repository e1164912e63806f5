import type { Pool } from 'pg'

/** Rows of a tenant that does not exist, for tests of what others read beside them. */

const OTHER = 'tenant_of_others'

/** The tables that lists, look-ups and searches read rows of tenants from. */
const TABLES = [
  'access.tenants',
  'access.tokens',
  'access.users',
  'assets.groups',
  'files.files',
  'ledger.adjustments',
  'ledger.grants',
  'ledger.lines',
  'ops.refusals',
  'tasks.scopes',
  'tasks.tasks',
  'timeline.events',
  'timeline.sources',
]

interface Column {
  readonly name: string
  readonly type: string
}

async function columnsOf(pool: Pool, of: string): Promise<readonly Column[]> {
  const { rows } = await pool.query<Column>(
    `select column_name as name, udt_name as type from information_schema.columns
     where format('%s.%s', table_schema, table_name) = $1 and is_generated = 'NEVER'
       and identity_generation is distinct from 'ALWAYS'`,
    [of],
  )
  return rows
}

/** The columns by which the rows of a table are told apart. */
async function keysOf(pool: Pool, of: string): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ name: string }>(
    `select distinct a.attname as name from pg_index i
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
     where i.indrelid = $1::regclass and i.indisunique`,
    [of],
  )
  return new Set(rows.map(({ name }) => name))
}

/** Tables in which rows differ in more than their keys: a copy is made of one row of each. */
const kinds: Readonly<Record<string, string>> = { 'timeline.events': 'type' }
/** Events of which lists consist; of the others none is needed. */
const LISTED = ['TaskRequested', 'CallSettled', 'CallFailed', 'TaskFailed']

/** Names of others that begin like those of the tenant. */
const ids: ReadonlySet<string> = new Set(['native_id', 'source_id', 'line_id'])

/**
 * The value of a column of the `n`th copy. A key begins as that of the row that is copied; in one half of the copies it
 * is before that one, and their time is later, in the other half it is the other way round.
 */
function valueOf({ name, type }: Column, keys: ReadonlySet<string>): string {
  const old = `o.${name}`
  const isKey = keys.has(name) || ids.has(name)
  const isAlone = ![...keys].some((key) => key !== 'tenant_id' && key !== 'user_id')
  if (name === 'scope_id') return `${old} + 1000000`
  if (name === 'tenant_id')
    return isAlone && !keys.has('user_id') && keys.has(name)
      ? `'${OTHER}_' || copy_side || '_' || copy_n`
      : `'${OTHER}'`
  if (name === 'user_id')
    return isAlone && keys.has(name)
      ? `'user_of_others_' || copy_side || '_' || copy_n`
      : `'user_of_others'`
  if (type === 'timestamptz') return `${old} - copy_side * copy_n * interval '1 ms'`
  if (name.endsWith('_ms') && type === 'int8') return `${old} - copy_side * copy_n`
  if (!isKey || type === 'date' || type === 'bool') return old
  if (type === 'uuid') return 'gen_random_uuid()'
  if (type === 'bytea') return `sha256((copy_side || ' ' || n)::bytea)`
  if (type === 'int8' || type === 'int4')
    return `case when copy_side < 0 then -copy_n else ${old} + 1000000 + copy_n end`
  return `left(${old}, greatest(1, length(${old}) - 6)) || case when copy_side < 0 then '0' else 'z' end || lpad(copy_n::text, 5, '0')`
}

/**
 * Copies a row of a tenant in each table, as so many rows of others before it and as many after it.
 * @throws where the tenant has none to copy
 */
export async function addForeignRows(pool: Pool, tenantId: string, rows: number): Promise<void> {
  for (const of of TABLES) {
    const columns = await columnsOf(pool, of)
    const keys = await keysOf(pool, of)
    const kind = kinds[of]
    const chosen =
      kind === undefined
        ? `select * from ${of} where tenant_id = $1 limit 1`
        : `select distinct on (${kind}) * from ${of} where tenant_id = $1 and ${kind} = any('{${LISTED.join(',')}}')`
    // All scopes of the tenant, one of others for each: the tasks are the rows of these.
    const copied =
      of === 'tasks.scopes'
        ? `${of} o, generate_series(1, 1) copy_n, generate_series(1, 1) copy_side where tenant_id = $1`
        : `(${chosen}) o, generate_series(1, ${rows}) copy_n, unnest(array[-1, 1]) copy_side`
    const { rowCount } = await pool.query(
      `insert into ${of} (${columns.map(({ name }) => name).join(', ')})
       select ${columns.map((column) => valueOf(column, keys)).join(', ')} from ${copied}
       on conflict do nothing`,
      [tenantId],
    )
    if ((rowCount ?? 0) === 0) throw new Error(`there is no row of ${of} to copy`)
  }
}
