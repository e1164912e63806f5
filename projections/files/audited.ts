import type { StandingTable } from '../engine/standing.ts'

/** What of the files an auditor compares with the log: all of it. */
export const fileTables = {
  files: {
    name: 'files.files',
    columns: {
      file_id: 'text',
      tenant_id: 'text',
      user_id: 'text',
      token_id: 'text',
      purpose: 'text',
      filename: 'text',
      size_bytes: 'text',
      uploaded_at: 'time',
      deleted_at: 'time',
      expires_at: 'time',
      position: 'text',
    },
  },
} as const satisfies Readonly<Record<string, StandingTable>>
