import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Pool } from 'pg'
import { allProjections } from '../../../../projections/registry.ts'
import { audit } from '../../../../src/app/audit/audit.ts'
import { parseState } from '../../../../src/app/audit/state.ts'
import { Recorder } from '../../../projections/support/history.ts'
import { ScriptedLog } from '../../../projections/support/memory-log.ts'
import { history } from './audited.ts'

/** Audits and keeps how far it came as often as it can: `audit-child.ts URL STATE TASKS`. */
const [, , url, path = '', tasks] = process.argv
const pool = new Pool({ connectionString: url, max: 4 })
const log = new ScriptedLog(history(new Recorder(), Number(tasks)))
const report = await audit({
  pool,
  log,
  models: allProjections,
  resume: existsSync(path) ? parseState(readFileSync(path, 'utf8')) : undefined,
  stateIntervalMs: 0,
  onState: async (state) => {
    writeFileSync(`${path}.new`, JSON.stringify(state))
    renameSync(`${path}.new`, path)
    process.stdout.write('kept\n')
    await Promise.resolve()
  },
})
process.stdout.write(`${JSON.stringify(report)}\n`)
await pool.end()
