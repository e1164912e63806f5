import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { Clock } from '../../kernel/clock.ts'
import { systemRandom, type Random } from '../../kernel/random.ts'
import type { Channel } from '../ports/provider.ts'
import {
  type BreakerSettings,
  type BreakerState,
  closedBreaker,
  defaultBreakerSettings,
  mayTry,
  onFailure,
  onSuccess,
  onTry,
} from './breaker.ts'

/** Calls that may wait for a connection of a channel, as a multiple of its concurrency. */
const WAITING_PER_CONNECTION = 4

export interface ChannelWish {
  readonly family: string
  /** Absent where models belong to no region. */
  readonly region?: Channel['region']
  /** External name; absent where what is asked for is of no model. */
  readonly model?: string
  /** Only this one will do: it holds what the call continues from. */
  readonly channelId?: string
  /** Only an account that makes so many images at once will do. */
  readonly imageCount?: number
  /** Only an account of which its family says so will do. */
  readonly suits?: (channel: Channel) => boolean
}

export type ChannelOutcome = 'success' | 'failure' | 'neutral'

/** A channel a call may use now; `release` must be called once, with how it went. */
export interface ChannelLease {
  readonly channel: Channel
  readonly release: (outcome: ChannelOutcome) => void
}

/** The upstream accounts there are, and which of them to use. */
export interface ChannelDirectory {
  /** The next channel for a call that starts now, not one of `excluded`; undefined if none will do. */
  readonly lease: (wish: ChannelWish, excluded?: ReadonlySet<string>) => ChannelLease | undefined
  /** Upstream asked for quiet: no call of this model begins there for so long. */
  readonly rest: (id: string, model: string, forMs: number) => void
  /** Until the first channel of a model that rests is back; undefined when none rests. */
  readonly restingForMs: (wish: ChannelWish) => number | undefined
  readonly byId: (id: string) => Channel | undefined
  /** Every channel that may have been used for a model, whatever its health. */
  readonly serving: (wish: ChannelWish) => readonly Channel[]
  readonly all: readonly Channel[]
  /** For metrics and readiness. */
  readonly health: () => readonly { readonly id: string; readonly breaker: BreakerState['kind'] }[]
}

interface Slot {
  readonly channel: Channel
  breaker: BreakerState
  inFlight: number
  /** Calls that may be in flight or wait for a connection. */
  readonly maxInFlight: number
  /** By external name; a model that never rested is not in it. */
  readonly restUntilMs: Map<string, number>
}

/** Builds the directory. */
export function createChannelDirectory(
  channels: readonly Channel[],
  deps: {
    readonly catalog: Pick<Catalog, 'callFamilyOf'>
    /** Of durations alone. */
    readonly clock: Clock
    readonly random?: Random
    readonly breaker?: BreakerSettings
  },
): ChannelDirectory {
  const settings = deps.breaker ?? defaultBreakerSettings
  const random = deps.random ?? systemRandom
  const slots: readonly Slot[] = channels.map((channel) => ({
    channel,
    breaker: closedBreaker(deps.clock.nowMs()),
    inFlight: 0,
    // A call that waits for a connection would wait behind whole answers.
    maxInFlight:
      channel.maxConcurrent *
      (deps.catalog.callFamilyOf(channel.family) === undefined ? WAITING_PER_CONNECTION : 1),
    restUntilMs: new Map(),
  }))
  const slotOf = new Map(slots.map((slot) => [slot.channel.id, slot]))

  const take = (slot: Slot): ChannelLease => {
    slot.breaker = onTry(slot.breaker, deps.clock.nowMs(), settings)
    slot.inFlight += 1
    let released = false
    return {
      channel: slot.channel,
      release: (outcome) => {
        if (released) return
        released = true
        slot.inFlight -= 1
        const nowMs = deps.clock.nowMs()
        // A refusal that is the caller's fault still proves that the channel answers.
        if (outcome === 'failure') slot.breaker = onFailure(slot.breaker, nowMs, settings)
        else if (outcome === 'success') slot.breaker = onSuccess(slot.breaker, nowMs, settings)
        else if (slot.breaker.kind === 'half_open')
          slot.breaker = { ...slot.breaker, probes: Math.max(0, slot.breaker.probes - 1) }
      },
    }
  }

  return {
    all: channels,
    rest: (id, model, forMs) => {
      const slot = slotOf.get(id)
      const before = slot?.restUntilMs.get(model) ?? 0
      slot?.restUntilMs.set(model, Math.max(before, deps.clock.nowMs() + forMs))
    },
    restingForMs: (wish) => {
      const nowMs = deps.clock.nowMs()
      const left = slots
        .filter((slot) => serves(slot.channel, wish))
        .map((slot) => restOf(slot, wish) - nowMs)
        .filter((leftMs) => leftMs > 0)
      return left.length === 0 ? undefined : Math.min(...left)
    },
    byId: (id) => slotOf.get(id)?.channel,
    serving: (wish) => slots.map((slot) => slot.channel).filter((c) => serves(c, wish)),
    health: () => slots.map((slot) => ({ id: slot.channel.id, breaker: slot.breaker.kind })),
    lease: (wish, excluded) => {
      const nowMs = deps.clock.nowMs()
      const usable = slots.filter(
        (slot) =>
          serves(slot.channel, wish) &&
          excluded?.has(slot.channel.id) !== true &&
          slot.inFlight < slot.maxInFlight &&
          nowMs >= restOf(slot, wish) &&
          mayTry(slot.breaker, nowMs, settings),
      )
      const slot = pickWeighted(usable, random)
      return slot === undefined ? undefined : take(slot)
    },
  }
}

/** Until when a model rests there; what is of no model never does. */
function restOf({ restUntilMs }: Slot, { model }: ChannelWish): number {
  return model === undefined ? 0 : (restUntilMs.get(model) ?? 0)
}

function serves(channel: Channel, wish: ChannelWish): boolean {
  return (
    channel.family === wish.family &&
    (wish.region === undefined || channel.region === wish.region) &&
    (wish.model === undefined || Object.hasOwn(channel.models, wish.model)) &&
    (wish.channelId === undefined || channel.id === wish.channelId) &&
    (wish.imageCount === undefined ||
      (channel.largestImageCounts?.[wish.model ?? ''] ?? 1) >= wish.imageCount) &&
    wish.suits?.(channel) !== false
  )
}

/** The lowest priority number that is left wins; within it chance follows the weights. */
function pickWeighted(slots: readonly Slot[], random: () => number): Slot | undefined {
  const first = Math.min(...slots.map((slot) => slot.channel.priority))
  const rivals = slots.filter((slot) => slot.channel.priority === first)
  const total = rivals.reduce((sum, slot) => sum + slot.channel.weight, 0)
  let point = random() * total
  for (const slot of rivals) {
    point -= slot.channel.weight
    if (point < 0) return slot
  }
  return rivals.at(-1)
}
