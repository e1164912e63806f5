import { tokenEvents, type TokenEvent } from '../../domain/token/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'

/** Whether an event is about this tenant; to be asked in the order of the log. */
export function createOwnership(tenant: string): (event: RecordedEvent) => boolean {
  // Later events of a token name only the token; a tenant has few.
  const tokens = new Set<string>()
  return (event) => {
    if (event.type === 'TokenIssued') {
      if (event.data.tenantId !== tenant) return false
      tokens.add(event.data.tokenId)
      return true
    }
    if (isOfToken(event)) return tokens.has(event.data.tokenId)
    const named = 'tenantId' in event.data ? event.data.tenantId : undefined
    return (event.metadata.tenantId ?? named) === tenant
  }
}

function isOfToken(event: RecordedEvent): event is Extract<RecordedEvent, TokenEvent> {
  return Object.hasOwn(tokenEvents, event.type)
}
