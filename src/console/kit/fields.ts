import { currencies } from '../../kernel/money.ts'

/** A field of a filter; its value comes from the address and goes back into it. */
export interface FilterField {
  readonly name: string
  readonly label: string
  /** `date`: a day. `time`: a day, or a time of day in the zone of the page. */
  readonly type?: 'text' | 'date' | 'time'
  readonly options?: readonly string[]
  /** Words for some of the options. */
  readonly words?: Readonly<Record<string, string>>
  /** The words for no choice, `any` by default; null: one is always chosen. */
  readonly noChoice?: string | null
  readonly placeholder?: string
}

/** Fields that filters of several pages have, each named as the member of the API. */
export const fieldOf = {
  tenant: { name: 'tenant_id', label: 'Tenant' },
  user: { name: 'user_id', label: 'User' },
  token: { name: 'token_id', label: 'Token', placeholder: 'token_…' },
  model: { name: 'model', label: 'Model' },
  currency: { name: 'currency', label: 'Currency', options: currencies },
} as const satisfies Readonly<Record<string, FilterField>>

/** Times to choose from: pages of support are about the last hours, those of the ledger about months. */
const presets = {
  recent: ['1h', '24h', 'today', 'yesterday', '7d', '30d'],
  ledger: ['today', 'yesterday', '7d', '30d', 'this_month', 'last_month'],
} as const

const presetWords: Readonly<Record<string, string>> = {
  '1h': 'last hour',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
  '30d': 'last 30 days',
  this_month: 'this month',
  last_month: 'last month',
}

/** The fields for a time; `preset` changes the first of them. */
export function timeFields(
  of: keyof typeof presets,
  preset: Partial<FilterField> = {},
): readonly FilterField[] {
  // Support looks for hours, finance for days: a time of day is written as text.
  const kind: Partial<FilterField> =
    of === 'recent' ? { type: 'time', placeholder: '2026-11-30 14:00' } : { type: 'date' }
  return [
    {
      name: 'time_preset',
      label: 'Time',
      options: presets[of],
      words: presetWords,
      noChoice: null,
      ...preset,
    },
    { name: 'from', label: 'or from', ...kind },
    { name: 'to', label: 'before', ...kind },
  ]
}
