import { failureTypes } from '../../../projections/timeline/query.ts'
import { moneyEffectsOf, sourceOf } from '../../domain/any-event.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'

/** Narrows the events that were found to those that a replay shows. */

export interface Narrowing {
  /** Only events that move money, or say what was not charged. */
  readonly money?: boolean
  /** Only events that leave something without its result, or with an unknown one. */
  readonly errors?: boolean
}

const failures: ReadonlySet<string> = new Set([
  ...failureTypes,
  'CallWrittenOff',
  'AssetRefused',
  'AssetFailed',
  'AssetGroupRefused',
  'VerificationExpired',
])

function isOfMoney(event: RecordedEvent): boolean {
  if (event.type === 'CallFailed') return event.data.absorbed !== undefined
  return event.type === 'CallWrittenOff' || moneyEffectsOf(event).length > 0
}

/** Whether a replay shows an event. */
export function isShown(
  event: RecordedEvent,
  { money = false, errors = false }: Narrowing,
): boolean {
  return (!money || isOfMoney(event)) && (!errors || failures.has(event.type))
}

/** Whether events are of a token or of a user; to be asked in the order of the log. */
export function createRequester(requester: {
  readonly tokenId?: string
  readonly userId?: string
}): (event: RecordedEvent) => boolean {
  // Later events of a task or an asset name only the thing itself.
  const sources = new Set<string>()
  return (event) => {
    const { data } = event
    const tokenId = 'tokenId' in data ? data.tokenId : undefined
    const userId = 'userId' in data ? data.userId : undefined
    const source = sourceOf(event)
    const isOwn =
      (requester.tokenId !== undefined && tokenId === requester.tokenId) ||
      (requester.userId !== undefined && userId === requester.userId)
    if (isOwn && source !== undefined) sources.add(source)
    return isOwn || (source !== undefined && sources.has(source))
  }
}
