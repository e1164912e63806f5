import type { Queryable } from '../../engine/queryable.ts'

/** Whether anything was ever settled under a model or a SKU, of one tenant or of any. */
export async function hasLines(
  db: Queryable,
  column: 'model' | 'sku',
  name: string,
  tenantId: string | undefined,
): Promise<boolean> {
  // By tenant: that is how the indexes of lines begin.
  const { rows } = await db.query<{ found: boolean }>({
    name: `ledger.has.${column}`,
    text: `select exists (
             select from (select distinct tenant_id from ledger.balances) t
             where ($2::text is null or t.tenant_id = $2)
               and exists (select from ledger.lines l
                           where l.tenant_id = t.tenant_id and l.${column} = $1)) as found`,
    values: [name, tenantId ?? null],
  })
  return rows[0]?.found === true
}
