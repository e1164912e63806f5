import type { Principal } from '../../app/access/principal.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { HistoryItem, QueryReads } from './reads.ts'
import { sees, visibleTo } from './scope.ts'

const possibleId = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** What names our accounts upstream: for operators, not for the tenant. */
const operatorOnly: ReadonlySet<string> = new Set(['channelId', 'channelIds', 'upstreamModel'])

function shown(item: HistoryItem, forOperator: boolean) {
  const hideMarker = item.data['markerIsOurs'] === true
  const data = Object.fromEntries(
    Object.entries(item.data).filter(
      ([name]) => forOperator || !(operatorOnly.has(name) || (name === 'marker' && hideMarker)),
    ),
  )
  return {
    position: item.position,
    type: item.type,
    at: toTimestamp(item.atMs),
    data,
    metadata: item.metadata,
  }
}

/**
 * Every event of a task, oldest first, for whoever's scope it lies in.
 * @throws DomainError `task_not_found`, the same for a task outside the scope (P8)
 */
export async function readHistory(reads: QueryReads, principal: Principal, id: string) {
  const visible = visibleTo(principal)
  const history = possibleId.test(id) ? await reads.taskHistory(id, visible) : undefined
  // The reads narrow already; this keeps the promise even if one of them forgets.
  if (history === undefined || !sees(visible, history))
    throw new DomainError('task_not_found', 'no such task', {})
  return history.items.map((item) => shown(item, visible.tenantId === undefined))
}
