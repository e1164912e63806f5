import { eventId } from '../../../src/kernel/ids.ts'
import type { CallEvent } from '../../../src/domain/call/events.ts'
import type { EventMetadata, NewEvent } from '../../../src/eventlog/log/types.ts'

/** Metadata of a command in a test. */
export function metadataOf(commandId: string): EventMetadata {
  return { schemaVersion: 1, correlationId: 'req_1', commandId }
}

/** A small valid event whose id follows from stream and command. */
export function cancelled(stream: string, commandId: string, index = 0): NewEvent {
  return {
    type: 'TaskCancelled',
    data: { platformId: `video_${commandId}`, cancelledAt: '2025-01-01T00:00:00.000Z' },
    id: eventId(stream, commandId, index),
    metadata: metadataOf(commandId),
  }
}

/** A valid event with about this many bytes of text in it. */
export function sized(stream: string, commandId: string, bytes: number): NewEvent {
  return {
    type: 'TaskFailed',
    data: {
      platformId: 'video_1',
      code: 'x',
      message: 'm'.repeat(bytes),
      failedAt: '2025-01-01T00:00:00.000Z',
    },
    id: eventId(stream, commandId, 0),
    metadata: metadataOf(commandId),
  }
}

/** A failed synchronous call, for journals. */
export function callFailed(callId: string, message = 'upstream said no'): CallEvent {
  return {
    type: 'CallFailed',
    data: {
      callId,
      surface: 'chat',
      tenantId: 'ten_1',
      userId: 'usr_1',
      tokenId: 'tok_1',
      requestId: 'req_1',
      model: 'text-1',
      channelId: 'channel-1',
      upstreamModel: 'upstream-1',
      stream: false,
      startedAt: '2025-01-01T00:00:00.000Z',
      code: 'upstream_failed',
      message,
      failedAt: '2025-01-01T00:00:01.000Z',
    },
  }
}

/** The numbers from 0 up to a count. */
export function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index)
}
