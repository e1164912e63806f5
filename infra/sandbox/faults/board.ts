import { type Random, seededRandom } from '../kit/clock.ts'
import { type Faults, mergeFaults, NO_FAULTS, parseSwitches, UnknownSwitch } from './vocabulary.ts'

/** What a process-wide rule may be narrowed to; an absent member matches everything. */
interface FaultMatch {
  readonly family?: string | undefined
  /** `create`, `get`, `list`, `delete`, `media`, `cancel`; or several of them. */
  readonly op?: string | readonly string[] | undefined
  readonly model?: string | undefined
  readonly id?: string | undefined
  readonly client_marker?: string | undefined
  readonly safety_identifier?: string | undefined
}

/** A process-wide rule as a test states it. */
export interface FaultRule {
  /** Switches in the words of the prompt marker, e.g. `["http=503"]`. */
  readonly faults: readonly string[]
  /** Share of matching requests it strikes, 0 to 1; default 1. */
  readonly rate?: number | undefined
  readonly match?: FaultMatch | undefined
  /** The fault strikes at most this often. */
  readonly once?: number | boolean | undefined
  /** Seed of the rule's own dice; default from the sandbox's seed. */
  readonly seed?: number | undefined
}

/** What is known of a request when the rules are asked. */
export interface FaultSubject {
  readonly family: string
  readonly op: string
  readonly model: string | null
  readonly id: string | null
  readonly clientMarker: string | null
  readonly safetyIdentifier: string | null
}

/** A rule in force. */
interface ActiveRule {
  readonly id: string
  readonly rule: FaultRule
  /** How many requests it struck. */
  readonly hits: number
}

interface Entry {
  readonly id: string
  readonly rule: FaultRule
  readonly faults: Faults
  readonly random: Random
  readonly limit: number
  hits: number
}

const MAX_RULES = 1000

function matches(match: FaultMatch | undefined, subject: FaultSubject): boolean {
  if (match === undefined) return true
  const ops = match.op === undefined ? null : typeof match.op === 'string' ? [match.op] : match.op
  return (
    (match.family === undefined || match.family === subject.family) &&
    (ops === null || ops.includes(subject.op)) &&
    (match.model === undefined || match.model === subject.model) &&
    (match.id === undefined || match.id === subject.id) &&
    (match.client_marker === undefined || match.client_marker === subject.clientMarker) &&
    (match.safety_identifier === undefined || match.safety_identifier === subject.safetyIdentifier)
  )
}

/** The process-wide fault rules, in the order they were added; later rules win over earlier ones. */
export class FaultBoard {
  #entries: Entry[] = []
  #added = 0
  readonly #seed: number

  constructor(seed: number) {
    this.#seed = seed
  }

  /** Adds a rule. @throws UnknownSwitch for an unknown word, RangeError for a value out of range. */
  add(rule: FaultRule): ActiveRule {
    const faults = parseSwitches(rule.faults)
    if (faults.size === 0) throw new UnknownSwitch('faults must name at least one switch')
    const rate = rule.rate ?? 1
    if (!(rate >= 0 && rate <= 1)) throw new RangeError('rate must be between 0 and 1')
    if (this.#entries.length >= MAX_RULES) throw new RangeError(`at most ${MAX_RULES} rules`)
    const once = rule.once === true ? 1 : rule.once === false ? undefined : rule.once
    if (once !== undefined && (!Number.isSafeInteger(once) || once < 1)) {
      throw new RangeError('once must be true or a whole number above 0')
    }
    this.#added += 1
    const entry: Entry = {
      id: `fault-${this.#added}`,
      rule,
      faults,
      random: seededRandom(rule.seed ?? this.#seed + this.#added),
      limit: once ?? Number.POSITIVE_INFINITY,
      hits: 0,
    }
    this.#entries.push(entry)
    return { id: entry.id, rule, hits: 0 }
  }

  /** The rules, including those that have struck often enough. */
  list(): readonly ActiveRule[] {
    return this.#entries.map(({ id, rule, hits }) => ({ id, rule, hits }))
  }

  /** Removes one rule, or all. Returns how many went. */
  clear(id?: string): number {
    const before = this.#entries.length
    this.#entries = id === undefined ? [] : this.#entries.filter((entry) => entry.id !== id)
    return before - this.#entries.length
  }

  /** The switches that strike this request. Throws the dice: ask once a request. */
  strike(subject: FaultSubject): Faults {
    let faults = NO_FAULTS
    for (const entry of this.#entries) {
      if (entry.hits >= entry.limit || !matches(entry.rule.match, subject)) continue
      if (entry.random() >= (entry.rule.rate ?? 1)) continue
      entry.hits += 1
      faults = mergeFaults(faults, entry.faults)
    }
    return faults
  }
}
