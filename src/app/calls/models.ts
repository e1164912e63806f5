import type { Principal } from '../access/principal.ts'
import type { ChannelDirectory } from '../channels/directory.ts'

export interface ListedModel {
  readonly id: string
  readonly createdAtMs: number
  /** The wires that serve it. */
  readonly families: readonly string[]
}

/** When a model came is configuration and not known; the same figure for all, and for ever. */
const CREATED_AT_MS = Date.UTC(2026, 0, 1)

/** The models that a principal may use, by name. */
export function listModels(
  channels: ChannelDirectory,
  principal: Principal,
): readonly ListedModel[] {
  const families = new Map<string, Set<string>>()
  for (const channel of channels.all) {
    for (const model of Object.keys(channel.models)) {
      if (principal.models !== undefined && !principal.models.has(model)) continue
      const known = families.get(model) ?? new Set<string>()
      families.set(model, known.add(channel.family))
    }
  }
  return [...families]
    .map(([id, served]) => ({ id, createdAtMs: CREATED_AT_MS, families: [...served].toSorted() }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
