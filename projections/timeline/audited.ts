import type { StandingTable } from '../engine/standing.ts'

/** What of the timeline an auditor compares with the log: all of it. */
export const timelineTables = {
  events: {
    name: 'timeline.events',
    columns: {
      position: 'text',
      tenant_id: 'text',
      user_id: 'text',
      source_id: 'text',
      type: 'text',
      event_id: 'text',
      stream: 'text',
      revision: 'text',
      at: 'time',
      data: 'json',
      metadata: 'json',
    },
  },
  sources: {
    name: 'timeline.sources',
    columns: {
      source_id: 'text',
      tenant_id: 'text',
      user_id: 'text',
      native_id: 'text',
      position: 'text',
    },
  },
} as const satisfies Readonly<Record<string, StandingTable>>
