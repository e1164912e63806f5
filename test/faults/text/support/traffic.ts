import type { Dice } from '../../driver/random.ts'
import { type Asking, families } from './caller.ts'

/** Calls of every kind that end well when nobody interferes. */
export interface Traffic {
  /** The next call; `more` goes over what the dice said. */
  readonly next: (more?: Partial<Asking>) => Asking
  /** Markers of all calls so far. */
  readonly markers: () => ReadonlySet<string>
}

export function traffic(dice: Dice, name: string): Traffic {
  const markers = new Set<string>()
  return {
    next: (more = {}) => {
      const marker = `${name}-${markers.size + 1}`
      markers.add(marker)
      const family = more.family ?? dice.pick(families)
      const webSearch = more.webSearch ?? (family === 'responses' && dice.chance(0.3))
      const words = dice.integer(4, 24)
      const switches = [
        `words=${words}`,
        `frame-ms=${dice.integer(1, 60)}`,
        ...(webSearch ? [`tool=web_search tool-searches=${dice.integer(1, 3)}`] : []),
        ...(dice.chance(0.2) ? [`reasoning-tokens=${dice.integer(1, 90)}`] : []),
        ...(dice.chance(0.2) ? ['split-bytes'] : []),
      ]
      return {
        family,
        streamed: dice.chance(0.7),
        model: dice.pick(['text-basic', 'text-cache']),
        marker,
        switches: switches.join(' '),
        webSearch,
        ...more,
      }
    },
    markers: () => markers,
  }
}
