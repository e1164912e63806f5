import { createLru } from '../../kernel/lru.ts'

/** The position of this process's last write for each tenant, so that it reads its own writes. */

const MAX_TENANTS = 10_000

export interface RecentWrites {
  readonly note: (tenantId: string, position: bigint | undefined) => void
  /** Position the projection must have passed before this tenant's reads are its own writes. */
  readonly of: (tenantId: string) => bigint | undefined
  /** The projection has passed this position: readers need not wait, unless more was written. */
  readonly projected: (tenantId: string, position: bigint) => void
}

export function createRecentWrites(): RecentWrites {
  const positions = createLru<string, bigint>(MAX_TENANTS)
  return {
    of: (tenantId) => positions.get(tenantId),
    projected: (tenantId, position) => {
      const known = positions.get(tenantId)
      if (known !== undefined && known <= position) positions.delete(tenantId)
    },
    note: (tenantId, position) => {
      if (position === undefined) return
      const known = positions.get(tenantId)
      if (known !== undefined && known >= position) return
      positions.set(tenantId, position)
    },
  }
}
