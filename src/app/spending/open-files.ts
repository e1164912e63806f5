import { DomainError } from '../../kernel/errors.ts'

/** Maximum for one tenant, so that its slow downloads leave room for others. */
const TENANT_SHARE = 0.5

/**
 * Bounds the files that one process streams to callers in parallel: each holds a connection until
 * it ends.
 */
export interface OpenFiles {
  /** Returns a function that frees the place. @throws DomainError `overloaded` */
  readonly take: (tenantId: string) => () => void
}

export function createOpenFiles(most: number): OpenFiles {
  const byTenant = new Map<string, number>()
  let open = 0
  return {
    take: (tenantId) => {
      const own = byTenant.get(tenantId) ?? 0
      if (open >= most || own >= most * TENANT_SHARE)
        throw new DomainError('overloaded', 'too many files are being downloaded at the moment', {})
      open += 1
      byTenant.set(tenantId, own + 1)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        open -= 1
        const left = (byTenant.get(tenantId) ?? 0) - 1
        if (left > 0) byTenant.set(tenantId, left)
        else byTenant.delete(tenantId)
      }
    },
  }
}
