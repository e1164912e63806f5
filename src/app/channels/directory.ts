import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { Clock } from '../../kernel/clock.ts'
import { systemRandom, type Random } from '../../kernel/random.ts'
import { type Log, silentLog } from '../../kernel/log.ts'
import type { Sharer } from '../../kernel/sharers.ts'
import type { Channel, ProviderError, Region } from '../ports/provider.ts'
import { type BreakerSettings, type BreakerState, defaultBreakerSettings } from './breaker.ts'
import { ChannelOutcomes, shownError, type ShownOutcomes } from './outcomes.ts'
import { AccountRefusals, ChannelHealth, type ChannelOutcome } from './health.ts'

/** Share of a channel's places that one tenant leaves to others, if the channel has many places. */
const LEFT_TO_OTHERS = 1 / 8
const FEWEST_SHARED = 8
/** Calls that may wait for a connection of a channel, as a multiple of its concurrency. */
const WAITING_PER_CONNECTION = 4

export interface ChannelQuery {
  readonly family: string
  /** Absent when models have no region. */
  readonly region?: Region
  /** External name; absent for work without a model. */
  readonly model?: string
  /** Only this channel qualifies: it has the response that the call continues. */
  readonly channelId?: string
  /** Only an account that makes this many images per request qualifies. */
  readonly imageCount?: number
  /** Only an account that its family accepts with this qualifies. */
  readonly suits?: (channel: Channel) => boolean
}

/** A channel for one call; the caller must call `release` once, with the outcome. */
export interface ChannelLease {
  readonly channel: Channel
  /** For whom the call is made. */
  readonly sharer: Sharer
  readonly release: (outcome: ChannelOutcome, failure?: ProviderError) => void
}

/** The state of one channel in this process. */
export interface ShownHealth extends ShownOutcomes {
  readonly id: string
  readonly breaker: BreakerState['kind']
  /** Users for which the channel is closed because of their own failures. */
  readonly shutUsers: number
  readonly callsInFlight: number
}

/** The configured upstream accounts, and the choice among them. */
export interface ChannelDirectory {
  /** A channel for a user's call now, not one of `excluded`; undefined if none qualifies. */
  readonly lease: (
    sharer: Sharer,
    channelQuery: ChannelQuery,
    excluded?: ReadonlySet<string>,
  ) => ChannelLease | undefined
  /**
   * The channel that a user's call would be sent to, without a place at it: its number of running calls does not
   * matter. Undefined if none qualifies.
   */
  readonly choose: (
    sharer: Sharer,
    channelQuery: ChannelQuery,
    excluded: ReadonlySet<string>,
  ) => Channel | undefined
  /** The account's limit is used up: no call of this model begins there for this long. */
  readonly rest: (id: string, model: string, forMs: number) => void
  /**
   * A tenant's call was refused by upstream's rate limit. The model rests there for this tenant,
   * because the call itself may have been too large for the limit; for all if it refuses another
   * tenant as well.
   */
  readonly restFor: (sharer: Sharer, id: string, model: string, forMs: number) => void
  /** Milliseconds until the first resting channel of a model returns; undefined when none rests. */
  readonly restingForMs: (sharer: Sharer, channelQuery: ChannelQuery) => number | undefined
  /** Whether a channel would take the user's call, had it a place. */
  readonly isMerelyFull: (sharer: Sharer, channelQuery: ChannelQuery) => boolean
  readonly byId: (id: string) => Channel | undefined
  /** Every channel that may have been used for a model, healthy or not. */
  readonly serving: (channelQuery: ChannelQuery) => readonly Channel[]
  readonly all: readonly Channel[]
  readonly health: () => readonly ShownHealth[]
  /** Channels that refused the gateway's own account. */
  readonly refusals: Pick<AccountRefusals, 'refused' | 'worked' | 'shown'>
}

/** Until when a model rests. */
interface Rest {
  /** For all tenants. */
  readonly untilMs: number
  /** For the tenant that was refused last. */
  readonly tenant: string | undefined
  readonly tenantUntilMs: number
}

const NO_REST: Rest = { untilMs: 0, tenant: undefined, tenantUntilMs: 0 }

/** One channel: its calls in flight, its health, and its resting models. */
class Slot {
  readonly channel: Channel
  readonly health: ChannelHealth
  #inFlight = 0
  /** Running calls by tenant, for tenants that have any. */
  readonly #inFlightOf = new Map<string, number>()
  /** Calls that may be in flight or wait for a connection, and those of one tenant. */
  readonly #maxInFlight: number
  readonly #maxPerTenant: number
  readonly #clock: Clock
  readonly #outcomes = new ChannelOutcomes()
  /** Models by external name; one that never rested has no entry. */
  readonly #rests = new Map<string, Rest>()

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
    const left = Math.max(1, Math.floor(deps.maxInFlight * LEFT_TO_OTHERS))
    this.#maxPerTenant = deps.maxInFlight - (deps.maxInFlight < FEWEST_SHARED ? 0 : left)
    this.#clock = deps.clock
    this.health = new ChannelHealth(deps.settings, deps.clock.nowMs())
  }

  /** Whether a user's call may begin now. */
  isFree(sharer: Sharer, model: string | undefined, nowMs: number): boolean {
    return (
      this.#inFlight < this.#maxInFlight &&
      (this.#inFlightOf.get(sharer.tenant) ?? 0) < this.#maxPerTenant &&
      this.isWell(sharer, model, nowMs)
    )
  }

  /** Whether a user's call may begin once there is a place for it. */
  isWell(sharer: Sharer, model: string | undefined, nowMs: number): boolean {
    return nowMs >= this.restUntilMs(sharer, model) && this.health.mayCall(sharer, nowMs)
  }

  /** Until when a model rests for a tenant; work without a model never rests. */
  restUntilMs({ tenant }: Sharer, model: string | undefined): number {
    const rest = model === undefined ? undefined : this.#rests.get(model)
    if (rest === undefined) return 0
    return rest.tenant === tenant ? Math.max(rest.untilMs, rest.tenantUntilMs) : rest.untilMs
  }

  rest(model: string, untilMs: number): void {
    const rest = this.#rests.get(model) ?? NO_REST
    this.#rests.set(model, { ...rest, untilMs: Math.max(rest.untilMs, untilMs) })
  }

  restFor({ tenant }: Sharer, model: string, untilMs: number): void {
    const rest = this.#rests.get(model) ?? NO_REST
    const rests = rest.tenantUntilMs > this.#clock.nowMs()
    if (rests && rest.tenant !== tenant) return this.rest(model, untilMs)
    const tenantUntilMs = rests ? Math.max(rest.tenantUntilMs, untilMs) : untilMs
    this.#rests.set(model, { ...rest, tenant, tenantUntilMs })
  }

  shown(): ShownHealth {
    const nowMs = this.#clock.nowMs()
    return {
      id: this.channel.id,
      breaker: this.health.kind(nowMs),
      shutUsers: this.health.shutUsers(),
      callsInFlight: this.#inFlight,
      ...this.#outcomes.shown(nowMs),
    }
  }

  lease(sharer: Sharer, model: string | undefined): ChannelLease {
    const { tenant } = sharer
    this.health.onCall(sharer, this.#clock.nowMs())
    this.#inFlight += 1
    this.#inFlightOf.set(tenant, (this.#inFlightOf.get(tenant) ?? 0) + 1)
    let released = false
    return {
      channel: this.channel,
      sharer,
      release: (outcome, failure) => {
        if (released) return
        released = true
        this.#inFlight -= 1
        const left = (this.#inFlightOf.get(tenant) ?? 1) - 1
        if (left > 0) this.#inFlightOf.set(tenant, left)
        else this.#inFlightOf.delete(tenant)
        const nowMs = this.#clock.nowMs()
        this.health.onOutcome(sharer, outcome, nowMs)
        this.#outcomes.note(outcome, nowMs, failure && { ...shownError(failure), model })
      },
    }
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
    readonly logger?: Pick<Log, 'warn'>
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
  const chosen = createChoice(slots, clock, random)

  return {
    all: channels,
    refusals: new AccountRefusals(clock, deps.logger ?? silentLog),
    rest: (id, model, forMs) => slotOf.get(id)?.rest(model, clock.nowMs() + forMs),
    restFor: (sharer, id, model, forMs) =>
      slotOf.get(id)?.restFor(sharer, model, clock.nowMs() + forMs),
    restingForMs: (sharer, channelQuery) => {
      const nowMs = clock.nowMs()
      const left = slots
        .filter((slot) => serves(slot.channel, channelQuery))
        .map((slot) => slot.restUntilMs(sharer, channelQuery.model) - nowMs)
        .filter((leftMs) => leftMs > 0)
      return left.length === 0 ? undefined : Math.min(...left)
    },
    isMerelyFull: (sharer, channelQuery) =>
      slots.some(
        ({ channel, health }) =>
          serves(channel, channelQuery) && health.mayCall(sharer, clock.nowMs()),
      ),
    byId: (id) => slotOf.get(id)?.channel,
    serving: (channelQuery) =>
      slots.map((slot) => slot.channel).filter((c) => serves(c, channelQuery)),
    health: () => slots.map((slot) => slot.shown()),
    choose: (sharer, channelQuery, excluded) =>
      chosen(channelQuery, excluded, (slot, nowMs) =>
        slot.isWell(sharer, channelQuery.model, nowMs),
      )?.channel,
    lease: (sharer, channelQuery, excluded) =>
      chosen(channelQuery, excluded, (slot, nowMs) =>
        slot.isFree(sharer, channelQuery.model, nowMs),
      )?.lease(sharer, channelQuery.model),
  }
}

/** Chooses among the channels that qualify and are usable now. */
function createChoice(slots: readonly Slot[], clock: Clock, random: Random) {
  return (
    channelQuery: ChannelQuery,
    excluded: ReadonlySet<string> | undefined,
    isUsable: (slot: Slot, nowMs: number) => boolean,
  ): Slot | undefined => {
    const nowMs = clock.nowMs()
    const usable = slots.filter(
      (slot) =>
        serves(slot.channel, channelQuery) &&
        excluded?.has(slot.channel.id) !== true &&
        isUsable(slot, nowMs),
    )
    return pickWeighted(usable, random)
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
