import type { StandingTable } from '../engine/standing.ts'

/** What of uploads and voices an auditor compares with the log: all of it. */
export const voiceTables = {
  uploads: {
    name: 'voices.uploads',
    columns: {
      file_id: 'text',
      tenant_id: 'text',
      user_id: 'text',
      token_id: 'text',
      channel_id: 'text',
      upstream_file_id: 'text',
      purpose: 'text',
      filename: 'text',
      size_bytes: 'text',
      uploaded_at: 'time',
      expires_at: 'time',
      position: 'text',
    },
  },
  voices: {
    name: 'voices.voices',
    columns: {
      voice_key: 'text',
      tenant_id: 'text',
      user_id: 'text',
      token_id: 'text',
      voice_id: 'text',
      request_id: 'text',
      channel_id: 'text',
      upstream_voice_id: 'text',
      source_file_id: 'text',
      cloned_at: 'time',
      position: 'text',
    },
  },
} as const satisfies Readonly<Record<string, StandingTable>>
