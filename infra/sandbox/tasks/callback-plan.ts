import { countOf, isOn, type Faults } from '../faults/vocabulary.ts'
import type { CallbackPlan } from './record.ts'

const MAX_COPIES = 100

/** Where a task's callbacks go and how they misbehave; null: it has none. */
export function callbackOf(url: string | null, faults: Faults): CallbackPlan | null {
  if (url === null) return null
  const copies = countOf(faults, 'callback-storm') ?? (isOn(faults, 'callback-duplicate') ? 2 : 1)
  return {
    url,
    copies: Math.min(MAX_COPIES, Math.max(1, copies)),
    reorder: isOn(faults, 'callback-reorder'),
  }
}
