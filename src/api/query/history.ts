import type { Principal } from '../../app/access/principal.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { callIdOfAnswer } from '../../kernel/ids.ts'
import type { HistoryItem, QueryReads } from './reads.ts'
import { sees, visibleTo } from './scope.ts'

/** Hashes may begin with any character. */
const possibleId = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$/

/** Members that name accounts upstream, or who posted money: for operators, not for the tenant. */
const operatorOnly: ReadonlySet<string> = new Set(
  'channelId channelIds upstreamModel upstreamFileId upstreamVoiceId nativeGroupId by proposedBy'.split(
    ' ',
  ),
)

/**
 * Whether an event is one of an asset, a group or a verification: their ids upstream are not shown.
 */
const isOfLibrary = ({ type }: HistoryItem): boolean => /^(?:Asset|Verification)/.test(type)

function shown(item: HistoryItem, forOperator: boolean) {
  const hideMarker = item.data['markerIsOurs'] === true
  const isHidden = (name: string): boolean =>
    operatorOnly.has(name) ||
    (name === 'marker' && hideMarker) ||
    (name === 'nativeId' && isOfLibrary(item))
  const data = Object.fromEntries(
    Object.entries(item.data).filter(([name]) => forOperator || !isHidden(name)),
  )
  return {
    position: item.position,
    type: item.type,
    at: toTimestamp(item.atMs),
    data,
    metadata: item.metadata,
  }
}

async function read(reads: QueryReads, principal: Principal, id: string) {
  const visible = visibleTo(principal)
  const found = possibleId.test(id) ? await reads.history(callIdOfAnswer(id), visible) : []
  // The reads filter already; this check keeps other tenants' events out even if one of them fails
  // to.
  const items = found.filter((item) => sees(visible, item))
  return { items, forOperator: visible.tenantId === undefined }
}

/**
 * Every event of a task, a call, its answer, a file or a request, oldest first, if it is inside the principal's
 * scope. @throws DomainError `task_not_found`, also for events outside the scope (P8)
 */
export async function readHistory(reads: QueryReads, principal: Principal, id: string) {
  const { items, forOperator } = await read(reads, principal, id)
  if (items.length === 0) throw new DomainError('task_not_found', 'no such task', {})
  return items.map((item) => shown(item, forOperator))
}

/**
 * The history of an asset, a group or a verification; for a request, its events of the asset
 * library.
 * @throws DomainError `asset_not_found`
 */
export async function readAssetHistory(reads: QueryReads, principal: Principal, id: string) {
  const { items, forOperator } = await read(reads, principal, id)
  if (!items.some(isOfLibrary)) throw new DomainError('asset_not_found', 'no such asset', {})
  const ofLibrary = items.filter((item) => isOfLibrary(item) || item.type === 'NotePosted')
  return ofLibrary.map((item) => shown(item, forOperator))
}
