import { Pool } from 'pg'
import { rebuildProjection } from '../../../projections/engine/rebuild.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { mixedHistory } from './history.ts'
import { ScriptedLog } from './memory-log.ts'

/**
 * Rebuilds the ledger for ever, so that it can be killed at any step: `rebuild-child.ts URL` swaps it each
 * time, `rebuild-child.ts URL check` only compares.
 */
const pool = new Pool({ connectionString: process.argv[2], max: 6, pipeline: true })
const log = new ScriptedLog(mixedHistory(400))
for (;;)
  await rebuildProjection({
    pool,
    log,
    projection: ledgerProjection,
    check: process.argv[3] === 'check',
    onProgress: ({ phase }) => process.stdout.write(`${phase}\n`),
  })
