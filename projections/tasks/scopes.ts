import type { PoolClient } from 'pg'
import { invariant } from '../../src/kernel/assert.ts'
import { textColumn } from '../engine/array-literals.ts'
import type { PlacedChange } from './counts.ts'
import type { TaskChange } from './fold.ts'
import { scopes as scopesTable } from './tables.ts'

interface Scope {
  readonly scopeId: number
  readonly tenantId: string
  readonly family: string
  nextSeq: bigint
}

interface ScopeRow {
  readonly scope_id: number
  readonly tenant_id: string
  readonly family: string
  readonly next_seq: string
}

function keyOf(tenantId: string, family: string): string {
  return `${family}/${tenantId}`
}

async function loadScopes(
  client: PoolClient,
  requested: readonly { readonly tenantId: string; readonly family: string }[],
): Promise<{ readonly scopes: Map<string, Scope>; readonly count: number }> {
  const wanted = new Map(requested.map((data) => [keyOf(data.tenantId, data.family), data]))
  const { rows } = await client.query<ScopeRow>({
    name: 'tasks.scopes.read',
    text: `select s.scope_id, s.tenant_id, s.family, s.next_seq
           from unnest($1::text[], $2::text[]) as w (tenant_id, family)
           join scopes s on s.tenant_id = w.tenant_id and s.family = w.family
           union all
           -- Numbered without gaps: the highest says how many there are, from the index.
           select coalesce(max(scope_id) + 1, 0), '', '', 0 from scopes`,
    values: [
      textColumn([...wanted.values()].map(({ tenantId }) => tenantId)),
      textColumn([...wanted.values()].map(({ family }) => family)),
    ],
  })
  const scopes = new Map<string, Scope>()
  let count = 0
  for (const row of rows) {
    const { scope_id: scopeId } = row
    if (row.tenant_id === '') count = scopeId
    else
      scopes.set(keyOf(row.tenant_id, row.family), {
        scopeId,
        tenantId: row.tenant_id,
        family: row.family,
        nextSeq: BigInt(row.next_seq),
      })
  }
  return { scopes, count }
}

/**
 * Gives every new task the next number of its tenant's list, in the order of the log: the same
 * numbers at every rebuild.
 */
export async function placeTasks(
  client: PoolClient,
  changes: readonly TaskChange[],
): Promise<readonly PlacedChange[]> {
  const requested = changes.flatMap((change) => (change.requested ? [change.requested] : []))
  const { scopes, count } =
    requested.length === 0
      ? { scopes: new Map<string, Scope>(), count: 0 }
      : await loadScopes(client, requested)
  let nextId = count
  const placed = changes.map((change): PlacedChange => {
    const { known, requested: data } = change
    if (known) return { change, scopeId: known.scopeId, seq: known.seq, model: known.model }
    invariant(data, 'a change is of a known task or of a new one')
    const { tenantId, family, model } = data
    const key = keyOf(tenantId, family)
    let scope = scopes.get(key)
    if (!scope) {
      scope = { scopeId: nextId, tenantId, family, nextSeq: 0n }
      nextId += 1
      scopes.set(key, scope)
    }
    const seq = scope.nextSeq
    scope.nextSeq += 1n
    return { change, scopeId: scope.scopeId, seq, model }
  })
  await scopesTable.upsert(client, [...scopes.values()])
  return placed
}
