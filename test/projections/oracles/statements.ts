import { canonicalTime } from '../../../projections/engine/audited-rows.ts'
import type { Expected } from '../../../src/app/audit/compare.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'

/** The rows of closes after their events, computed without the product's fold. */
export function periodRows(events: readonly RecordedEvent[]): ReadonlyMap<string, Expected> {
  const rows = new Map<string, Expected>()
  for (const { type, data, position } of events) {
    if (!('statement' in data && 'attempt' in data)) continue
    const { tenantId, currency, n, attempt, statement } = data
    const id = `${currency}/${n}/${attempt}`
    const row = rows.get(id)
    if (type === 'PeriodClosed') {
      const { sums, refunds, ...closed } = data
      const names = { tenant_id: tenantId, period_id: id, currency, n, statement }
      const none = { void_proposal: undefined, void_end: undefined }
      const { month } = closed
      rows.set(id, { ...names, month, state: 'closed', closed, sums, refunds, ...none, position })
    } else if (type === 'VoidProposed') {
      const { by = null, reason, proposedAt, expiresAt } = data
      const proposal = { by, reason, proposedAt, expiresAt }
      rows.set(id, { ...row, state: 'void_proposed', void_proposal: proposal, position })
    } else if (type === 'PeriodVoided') {
      const { by, reason, voidedAt } = data
      const end = { by, reason, endedAt: voidedAt }
      rows.set(id, { ...row, state: 'voided', void_end: end, position })
    } else if (type === 'VoidRejected') {
      const { by = null, reason, rejectedAt } = data
      const end = { by, reason, endedAt: rejectedAt }
      rows.set(id, { ...row, state: 'closed', void_end: end, position })
    }
  }
  return rows
}

/** The rows of published keys. */
export function keyRows(events: readonly RecordedEvent[]): ReadonlyMap<string, Expected> {
  return new Map(
    events.flatMap((event): [string, Expected][] => {
      if (event.type !== 'StatementKeyPublished') return []
      const { vkey, publishedAt } = event.data
      const published_at = canonicalTime(publishedAt)
      return [[vkey, { vkey, published_at, position: event.position }]]
    }),
  )
}
