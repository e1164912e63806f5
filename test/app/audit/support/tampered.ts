import type { Test } from 'tap'
import type { AuditReport } from '../../../../src/app/audit/audit.ts'
import { allProjections } from '../../../../projections/registry.ts'
import { ScriptedLog } from '../../../projections/support/memory-log.ts'
import type { Audited } from './audited.ts'

/** The schemas of the read models; each has the name of its read model. */
const schemas = allProjections.map(({ name }) => `'${name}'`).join(', ')

/**
 * Returns a function that changes rows by hand, audits, and puts every table of every read model back.
 * Nothing may follow the log meanwhile, nor may it grow: it is read once, since most of an audit is to ask for its
 * streams.
 */
export async function tampering(
  t: Test,
  { pool, log, audit }: Audited,
): Promise<(sql: string) => Promise<AuditReport>> {
  const kept = new ScriptedLog()
  for await (const event of log.readAll()) kept.push(event)
  const { rows: tables } = await pool.query<{ name: string; copy: string }>(
    `select format('%I.%I', schemaname, tablename) as name,
            format('public.kept_%s_%s', schemaname, tablename) as copy
     from pg_tables where schemaname in (${schemas}) order by 1`,
  )
  for (const { name, copy } of tables) await pool.query(`create table ${copy} as table ${name}`)
  t.teardown(async () => {
    for (const { copy } of tables) await pool.query(`drop table ${copy}`)
  })
  return async (sql) => {
    await pool.query(sql)
    try {
      return await audit({ log: kept })
    } finally {
      await pool.query(`truncate ${tables.map(({ name }) => name).join(', ')}`)
      // Versions before their entries, which refer to them.
      for (const { name, copy } of tables)
        await pool.query(`insert into ${name} select * from ${copy}`)
    }
  }
}
