import { Pool } from 'pg'
import { rebuildProjection } from '../../../projections/engine/rebuild.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { openTenant, overlappingTasks, Recorder } from './history.ts'
import { ScriptedLog } from './memory-log.ts'

/** Rebuilds the ledger for ever, so that it can be killed at any step: `rebuild-child.ts URL`. */
const pool = new Pool({ connectionString: process.argv[2], max: 6 })
const recorder = new Recorder()
const log = new ScriptedLog([
  ...openTenant(recorder, 'tenant_0'),
  ...overlappingTasks(recorder, { tasks: 400, width: 13 }),
])
for (;;)
  await rebuildProjection({
    pool,
    log,
    projection: ledgerProjection,
    onProgress: ({ phase }) => process.stdout.write(`${phase}\n`),
  })
