import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { Clock } from '../../kernel/clock.ts'
import { systemRandom, type Random } from '../../kernel/random.ts'
import type { Channel } from '../ports/provider.ts'
import {
  type BreakerSettings,
  type BreakerState,
  closedBreaker,
  defaultBreakerSettings,
  mayCall,
  onFailure,
  onSuccess,
  onCall,
} from './breaker.ts'

/** Calls that may wait for a connection of a channel, as a multiple of its concurrency. */
const WAITING_PER_CONNECTION = 4

export interface ChannelQuery {
  readonly family: string
  /** Absent when models have no region. */
  readonly region?: Channel['region']
  /** External name; absent for work without a model. */
  readonly model?: string
  /** Only this channel qualifies: it has what the call continues from. */
  readonly channelId?: string
  /** Only an account that makes this many images at once qualifies. */
  readonly imageCount?: number
  /** Only an account that its family accepts with this qualifies. */
  readonly suits?: (channel: Channel) => boolean
}

export type ChannelOutcome = 'success' | 'failure' | 'neutral'

/** A channel for one call; the caller must call `release` once, with the outcome. */
export interface ChannelLease {
  readonly channel: Channel
  readonly release: (outcome: ChannelOutcome) => void
}

/** The configured upstream accounts, and the choice among them. */
export interface ChannelDirectory {
  /** A channel for a call that starts now, not one of `excluded`; undefined if none qualifies. */
  readonly lease: (
    channelQuery: ChannelQuery,
    excluded?: ReadonlySet<string>,
  ) => ChannelLease | undefined
  /** Upstream's rate limit was reached: no call of this model begins there for this long. */
  readonly rest: (id: string, model: string, forMs: number) => void
  /** Milliseconds until the first resting channel of a model returns; undefined when none rests. */
  readonly restingForMs: (channelQuery: ChannelQuery) => number | undefined
  readonly byId: (id: string) => Channel | undefined
  /** Every channel that may have been used for a model, healthy or not. */
  readonly serving: (channelQuery: ChannelQuery) => readonly Channel[]
  readonly all: readonly Channel[]
  /** For metrics and readiness. */
  readonly health: () => readonly { readonly id: string; readonly breaker: BreakerState['kind'] }[]
}

/** One channel: its calls in flight, its breaker, and its resting models. */
class Slot {
  readonly channel: Channel
  #breaker: BreakerState
  #inFlight = 0
  /** Calls that may be in flight or wait for a connection. */
  readonly #maxInFlight: number
  readonly #settings: BreakerSettings
  readonly #clock: Clock
  /** By external name; a model that never rested is not in it. */
  readonly #restUntilMs = new Map<string, number>()

  constructor(
    channel: Channel,
    deps: {
      readonly maxInFlight: number
      readonly settings: BreakerSettings
      readonly clock: Clock
    },
  ) {
    this.channel = channel
    this.#maxInFlight = deps.maxInFlight
    this.#settings = deps.settings
    this.#clock = deps.clock
    this.#breaker = closedBreaker(deps.clock.nowMs())
  }

  get breaker(): BreakerState['kind'] {
    return this.#breaker.kind
  }

  /** Whether a call may begin now. */
  isFree(model: string | undefined, nowMs: number): boolean {
    return (
      this.#inFlight < this.#maxInFlight &&
      nowMs >= this.restUntilMs(model) &&
      mayCall(this.#breaker, nowMs, this.#settings)
    )
  }

  /** Until when a model rests; work without a model never rests. */
  restUntilMs(model: string | undefined): number {
    return model === undefined ? 0 : (this.#restUntilMs.get(model) ?? 0)
  }

  rest(model: string, untilMs: number): void {
    this.#restUntilMs.set(model, Math.max(this.restUntilMs(model), untilMs))
  }

  lease(): ChannelLease {
    this.#breaker = onCall(this.#breaker, this.#clock.nowMs(), this.#settings)
    this.#inFlight += 1
    let released = false
    return {
      channel: this.channel,
      release: (outcome) => {
        if (released) return
        released = true
        this.#inFlight -= 1
        this.#note(outcome)
      },
    }
  }

  #note(outcome: ChannelOutcome): void {
    const nowMs = this.#clock.nowMs()
    // A refusal for the caller's fault still proves that the channel answers.
    if (outcome === 'failure') this.#breaker = onFailure(this.#breaker, nowMs, this.#settings)
    else if (outcome === 'success') this.#breaker = onSuccess(this.#breaker, nowMs, this.#settings)
    else if (this.#breaker.kind === 'half_open')
      this.#breaker = { ...this.#breaker, probes: Math.max(0, this.#breaker.probes - 1) }
  }
}

/** Builds the directory. */
export function createChannelDirectory(
  channels: readonly Channel[],
  deps: {
    readonly catalog: Pick<Catalog, 'callFamilyOf'>
    /** For durations only. */
    readonly clock: Clock
    readonly random?: Random
    readonly breaker?: BreakerSettings
  },
): ChannelDirectory {
  const { catalog, clock, breaker: settings = defaultBreakerSettings, random = systemRandom } = deps
  const slots = channels.map((channel) => {
    // A call that waits for a connection would wait behind whole answers.
    const perConnection =
      catalog.callFamilyOf(channel.family) === undefined ? WAITING_PER_CONNECTION : 1
    return new Slot(channel, {
      maxInFlight: channel.maxConcurrent * perConnection,
      settings,
      clock,
    })
  })
  const slotOf = new Map(slots.map((slot) => [slot.channel.id, slot]))

  return {
    all: channels,
    rest: (id, model, forMs) => slotOf.get(id)?.rest(model, clock.nowMs() + forMs),
    restingForMs: (channelQuery) => {
      const nowMs = clock.nowMs()
      const left = slots
        .filter((slot) => serves(slot.channel, channelQuery))
        .map((slot) => slot.restUntilMs(channelQuery.model) - nowMs)
        .filter((leftMs) => leftMs > 0)
      return left.length === 0 ? undefined : Math.min(...left)
    },
    byId: (id) => slotOf.get(id)?.channel,
    serving: (channelQuery) =>
      slots.map((slot) => slot.channel).filter((c) => serves(c, channelQuery)),
    health: () => slots.map(({ channel, breaker }) => ({ id: channel.id, breaker })),
    lease: (channelQuery, excluded) => {
      const nowMs = clock.nowMs()
      const usable = slots.filter(
        (slot) =>
          serves(slot.channel, channelQuery) &&
          excluded?.has(slot.channel.id) !== true &&
          slot.isFree(channelQuery.model, nowMs),
      )
      return pickWeighted(usable, random)?.lease()
    },
  }
}

function serves(channel: Channel, channelQuery: ChannelQuery): boolean {
  return (
    channel.family === channelQuery.family &&
    (channelQuery.region === undefined || channel.region === channelQuery.region) &&
    (channelQuery.model === undefined || Object.hasOwn(channel.models, channelQuery.model)) &&
    (channelQuery.channelId === undefined || channel.id === channelQuery.channelId) &&
    (channelQuery.imageCount === undefined ||
      (channel.largestImageCounts?.[channelQuery.model ?? ''] ?? 1) >= channelQuery.imageCount) &&
    channelQuery.suits?.(channel) !== false
  )
}

/** The lowest available priority number wins; among equals the weights decide at random. */
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
