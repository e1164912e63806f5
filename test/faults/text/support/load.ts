import { setTimeout as sleep } from 'node:timers/promises'
import { atLength } from '../../../helpers/long-run.ts'
import type { Dice } from '../../driver/random.ts'
import { type Asking, families, type Heard } from './caller.ts'

/** Calls of every kind that end well when nobody interferes. */
interface Traffic {
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

/** Callers who never rest: so many calls a second, or as many as the machine takes. */

/** More are not begun before others end: a busy machine is asked for less. */
const MAX_IN_FLIGHT = atLength(300, 800)
const TICK_MS = 20

/** A call, when it was begun and when it ended, on the clock of `performance.now()`. */
export interface Timed {
  readonly beganMs: number
  readonly endedMs: number
  readonly heard: Heard
}

export interface Load {
  /** Calls that have ended. */
  readonly ended: () => number
  /** Begins no more and resolves once all have ended. */
  readonly stop: () => Promise<readonly Timed[]>
}

export function startLoad(call: () => Promise<Heard>, perSecond: number): Load {
  const timed: Timed[] = []
  const underWay = new Set<Promise<void>>()
  const stopping = new AbortController()
  const begin = (): void => {
    const beganMs = performance.now()
    const one: Promise<void> = call()
      .then((heard) => void timed.push({ beganMs, endedMs: performance.now(), heard }))
      .finally(() => underWay.delete(one))
    underWay.add(one)
  }
  const running = (async () => {
    let lastMs = performance.now()
    let due = 0
    while (!stopping.signal.aborted) {
      const nowMs = performance.now()
      // What could not be begun in time is left out, not made up for.
      due = Math.min(due + ((nowMs - lastMs) * perSecond) / 1_000, perSecond / 10)
      lastMs = nowMs
      for (; due >= 1 && underWay.size < MAX_IN_FLIGHT; due -= 1) begin()
      await sleep(TICK_MS)
    }
  })()
  return {
    ended: () => timed.length,
    stop: async () => {
      stopping.abort()
      await running
      await Promise.all(underWay)
      return timed
    },
  }
}
