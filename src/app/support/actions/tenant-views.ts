import type { LRUCache } from 'lru-cache'
import { viewDecider, type ViewsState } from '../../../domain/view/decider.ts'
import { viewStream } from '../../../domain/view/events.ts'
import { executeCommand, type StreamState } from '../../../eventlog/log/execute.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { type Clock, toTimestamp } from '../../../kernel/clock.ts'
import { newId } from '../../../kernel/ids.ts'
import { createLru } from '../../../kernel/lru.ts'
import type { ManagedTenants } from '../../accounts/managed-tenants.ts'
import { type Actor, personOf } from '../../accounts/management.ts'

/** Tenants whose views a process remembers, so that it reads only later ones. */
const MAX_TENANTS = 1_000

/**
 * Records the view of a tenant by someone from outside of it, with its reason; returns once that is durable. One
 * token is recorded once an hour, with its first reason. @throws DomainError `tenant_not_found`, and of
 * the log
 */
export type ViewTenant = (
  by: Actor,
  view: { readonly tenantId: string; readonly reason: string },
) => Promise<void>

export function createViewTenant(
  { log, clock }: { readonly log: EventLog; readonly clock: Clock },
  tenants: Pick<ManagedTenants, 'find'>,
): ViewTenant {
  const known: LRUCache<string, StreamState<ViewsState>> = createLru(MAX_TENANTS)
  return async (by, { tenantId, reason }) => {
    await tenants.find({ kind: 'all' }, tenantId)
    const nowMs = clock.nowMs()
    const { state, revision } = await executeCommand({
      log,
      stream: viewStream(tenantId),
      readBefore: known.get(tenantId),
      decider: viewDecider,
      command: { tenantId, reason, by: personOf(by), viewedAt: toTimestamp(nowMs) },
      commandId: newId('cmd', nowMs),
      // The tenant sees the metadata of its events, and not who it was.
      metadata: { correlationId: by.requestId, tenantId },
    })
    if (revision !== undefined) known.set(tenantId, { state, revision })
  }
}
