import { allProjections } from '../../projections/registry.ts'
import { audit, type AuditOptions, type AuditReport } from '../app/audit/audit.ts'
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
