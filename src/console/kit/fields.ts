import { currencies } from '../../kernel/money.ts'
import type { FilterField } from './filter.tsx'

/** Fields that filters of several pages have, each named as the member of the API. */
export const fieldOf = {
  tenant: { name: 'tenant_id', label: 'Tenant' },
  user: { name: 'user_id', label: 'User' },
  token: { name: 'token_id', label: 'Token', placeholder: 'token_…' },
  model: { name: 'model', label: 'Model' },
  currency: { name: 'currency', label: 'Currency', options: currencies },
  zone: { name: 'tz', label: 'Time zone', placeholder: 'UTC' },
} as const satisfies Readonly<Record<string, FilterField>>

/** Times to choose from: pages of support are about the last hours, those of the ledger about months. */
const presets = {
  recent: ['1h', '24h', 'today', 'yesterday', '7d', '30d'],
  ledger: ['today', 'yesterday', '7d', '30d', 'this_month', 'last_month'],
} as const

/** The fields for a time; `preset` changes the first of them. */
export function timeFields(
  of: keyof typeof presets,
  preset: Partial<FilterField> = {},
): readonly FilterField[] {
  return [
    { name: 'time_preset', label: 'Time', options: presets[of], ...preset },
    { name: 'from', label: 'From', type: 'date' },
    { name: 'to', label: 'Before', type: 'date' },
  ]
}
