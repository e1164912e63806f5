/** What a column is to Postgres; with `?` it may be null. */
export type ColumnType = 'text' | 'text?' | 'timestamptz' | 'bigint'
export type Columns = Readonly<Record<string, ColumnType>>

/** A row with every column as text, as Postgres takes it and gives it back without losing a digit. */
export type TextRow<C extends Columns> = {
  readonly [Name in keyof C]: C[Name] extends 'text?' ? string | null : string
}

const askedBy = {
  tenant_id: 'text',
  user_id: 'text',
  token_id: 'text',
  request_id: 'text',
} as const

export const assetColumns = {
  asset_id: 'text',
  ...askedBy,
  group_id: 'text',
  group_type: 'text',
  region: 'text',
  project_name: 'text',
  channel_id: 'text',
  asset_type: 'text',
  name: 'text',
  native_id: 'text?',
  state: 'text',
  error_code: 'text?',
  error_message: 'text?',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  position: 'bigint',
} as const satisfies Columns

export const groupColumns = {
  group_id: 'text',
  ...askedBy,
  group_type: 'text',
  region: 'text',
  project_name: 'text',
  channel_id: 'text',
  name: 'text',
  description: 'text',
  native_id: 'text?',
  verification_id: 'text?',
  state: 'text',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  position: 'bigint',
} as const satisfies Columns

export const verificationColumns = {
  verification_id: 'text',
  ...askedBy,
  region: 'text',
  project_name: 'text',
  channel_id: 'text',
  group_id: 'text',
  native_group_id: 'text?',
  state: 'text',
  started_at: 'timestamptz',
  expires_at: 'timestamptz',
  updated_at: 'timestamptz',
  position: 'bigint',
} as const satisfies Columns

export type AssetTextRow = TextRow<typeof assetColumns>
export type GroupTextRow = TextRow<typeof groupColumns>
export type VerificationTextRow = TextRow<typeof verificationColumns>

/** The columns of a table as its definition has them. */
export function columnsSql(columns: Columns): string {
  return Object.entries(columns)
    .map(([name, type]) => (type === 'text?' ? `${name} text` : `${name} ${type} not null`))
    .join(',\n    ')
}
