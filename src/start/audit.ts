import type { Pool } from 'pg'
import { allProjections } from '../../projections/registry.ts'
import { audit, type AuditOptions, type AuditReport } from '../app/audit/audit.ts'
import { keepLastAudit } from '../app/audit/last-audit.ts'
import { catalog } from '../families/index.ts'

/** Audits every read model by the rules of every family. */
export function auditAll(
  options: Omit<AuditOptions, 'models' | 'settleTask'>,
): Promise<AuditReport> {
  return audit({
    ...options,
    models: allProjections,
    settleTask: (family, success) => catalog.taskFamily(family).settle(success),
  })
}

/** Records the result for `/metrics` and for closes. An audit with a read-only account succeeds without the record. */
export async function recordAudit(
  pool: Pool,
  report: AuditReport,
  onFault: (message: string) => void,
): Promise<void> {
  try {
    await keepLastAudit(pool, report)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    onFault(`the result of the audit could not be recorded for /metrics: ${why}`)
  }
}
