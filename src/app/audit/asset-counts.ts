import type { Pool } from 'pg'
import { nextKeys } from '../../../projections/engine/audited-rows.ts'
import { differingAssetCounts } from '../../../projections/assets/query.ts'
import { rowDiffers } from './compare.ts'
import { MAX_FINDINGS, type Findings } from './findings.ts'
import { inSnapshot } from './snapshot.ts'

const table = 'assets.counts'

/** Every tenant with assets or with counts. */
const ofTenants = ['assets.assets', 'assets.groups', table].map((name) => {
  return { table: name, column: 'tenant_id' }
})

/**
 * Compares the counts of lists with the rows of assets and groups, which were compared with the log
 * before. Each tenant has its own snapshot, so that its rows and counts are of one moment.
 */
export async function auditAssetCounts({
  pool,
  findings,
}: {
  readonly pool: Pool
  readonly findings: Findings
}): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined;) {
    const from: string = after
    after = await inSnapshot(pool, async ({ db, position: reached }) => {
      const [tenantId] = await nextKeys(db, ofTenants, { after: from, limit: 1 })
      if (tenantId === undefined) return undefined
      const upTo = reached('assets')
      const differing = await differingAssetCounts(db, tenantId, upTo, MAX_FINDINGS)
      for (const { key, counted, stands, changed, position } of differing) {
        const log = `from ${changed} up to ${upTo}`
        const difference =
          counted === stands
            ? { field: 'position', log, stands: position }
            : { field: 'n', log: counted, stands }
        findings.push(rowDiffers({ table, key }, [difference]))
      }
      return tenantId
    })
  }
}
