import {
  savedViewDecider,
  type SavedViewCommand,
  type SavedViewsState,
} from '../../../domain/saved-view/decider.ts'
import { savedViewStream, type ViewSaved } from '../../../domain/saved-view/events.ts'
import { executeCommand, readOn, type StreamState } from '../../../eventlog/log/execute.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { type Clock, toTimestamp } from '../../../kernel/clock.ts'
import { newId } from '../../../kernel/ids.ts'
import { createLru } from '../../../kernel/lru.ts'
import { membersGiven } from '../../../kernel/json.ts'
import { type Actor, personOf } from '../../accounts/management.ts'

/** Lists that a process remembers, so that it reads only later events. */
const MAX_LISTS = 1_000

/** The owner of a list: a tenant, or the people who see all tenants (undefined). */
type ListOwner = string | undefined

/** Saved views, from the log: they are there after a rebuild of the read models and in each backup of the log. */
export interface SavedViews {
  /** By name. */
  readonly list: (tenantId: ListOwner) => Promise<readonly ViewSaved[]>
  /** Saves a view; sent again, it changes nothing. @throws DomainError `invalid_request` */
  readonly save: (
    by: Actor,
    tenantId: ListOwner,
    view: { readonly name: string; readonly address: string },
  ) => Promise<void>
  /** Removes a view; a removal of one that is not there changes nothing. @throws DomainError `invalid_request` */
  readonly remove: (by: Actor, tenantId: ListOwner, name: string) => Promise<void>
}

/** @throws what the log throws */
export function createSavedViews({
  log,
  clock,
}: {
  readonly log: EventLog
  readonly clock: Clock
}): SavedViews {
  const known = createLru<string, StreamState<SavedViewsState>>(MAX_LISTS)
  const remember = (
    stream: string,
    { state, revision }: { state: SavedViewsState; revision: bigint | undefined },
  ): void => {
    if (revision !== undefined) known.set(stream, { state, revision })
  }
  const decide = async (by: Actor, tenantId: ListOwner, command: SavedViewCommand) => {
    const stream = savedViewStream(tenantId)
    const decided = await executeCommand({
      log,
      stream,
      readBefore: known.get(stream),
      decider: savedViewDecider,
      command,
      commandId: newId('cmd', clock.nowMs()),
      metadata: {
        correlationId: by.requestId,
        actor: by.tokenId,
        ...membersGiven({ tenantId }),
      },
    })
    remember(stream, decided)
  }
  const now = (): string => toTimestamp(clock.nowMs())
  const listed = (by: Actor, tenantId: ListOwner) => ({
    ...membersGiven({ tenantId }),
    by: personOf(by),
  })
  return {
    list: async (tenantId) => {
      const stream = savedViewStream(tenantId)
      const read = await readOn(log, stream, savedViewDecider, known.get(stream))
      remember(stream, read)
      return [...read.state.views.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
    },
    save: (by, tenantId, { name, address }) =>
      decide(by, tenantId, {
        kind: 'save',
        data: { ...listed(by, tenantId), name, address, savedAt: now() },
      }),
    remove: (by, tenantId, name) =>
      decide(by, tenantId, {
        kind: 'remove',
        data: { ...listed(by, tenantId), name, removedAt: now() },
      }),
  }
}
