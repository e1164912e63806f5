import { unreachable } from '../../kernel/assert.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Decider } from '../decider.ts'
import type { FileEvent, FileEventData } from './events.ts'

/** One file of a tenant, from the moment at which its bytes are stored. */
export type FileState =
  | { readonly phase: 'none' }
  | { readonly phase: 'uploaded'; readonly file: FileEventData<'FileUploaded'> }
  | { readonly phase: 'deleted' }

/** `at` is RFC 3339. */
export type FileCommand =
  | { readonly kind: 'upload'; readonly file: FileEventData<'FileUploaded'> }
  | {
      readonly kind: 'delete'
      readonly fileId: string
      readonly tenantId: string
      readonly tokenId: string
      readonly at: string
    }

/**
 * The id of an existing file is not used again. Another tenant's file, and a deleted one, reads
 * like a missing one.
 *
 * @throws DomainError `file_not_found`
 */
export const fileDecider: Decider<FileState, FileCommand, FileEvent> = {
  initial: { phase: 'none' },

  decide(command, state) {
    switch (command.kind) {
      case 'upload':
        return state.phase === 'none' ? [{ type: 'FileUploaded', data: command.file }] : []
      case 'delete': {
        const { fileId, tenantId, tokenId, at } = command
        const { userId } = ownFile(state, tenantId, at)
        return [{ type: 'FileDeleted', data: { fileId, tenantId, userId, tokenId, deletedAt: at } }]
      }
      default:
        return unreachable(command)
    }
  },

  evolve(_state, event) {
    switch (event.type) {
      case 'FileUploaded':
        return { phase: 'uploaded', file: event.data }
      case 'FileDeleted':
        return { phase: 'deleted' }
      default:
        return unreachable(event)
    }
  },
}

/** The file, where it is this tenant's and has not expired. @throws DomainError `file_not_found` */
export function ownFile(
  state: FileState,
  tenantId: string,
  at: string,
): FileEventData<'FileUploaded'> {
  if (state.phase !== 'uploaded' || state.file.tenantId !== tenantId || hasExpired(state.file, at))
    throw new DomainError('file_not_found', 'the file does not exist', {})
  return state.file
}

/** Times are RFC 3339. */
export function hasExpired({ expiresAt }: { readonly expiresAt?: string }, at: string): boolean {
  return expiresAt !== undefined && fromTimestamp(expiresAt) <= fromTimestamp(at)
}
