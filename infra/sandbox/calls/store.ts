import { createHash } from 'node:crypto'
import { toTimestamp } from '../../../src/kernel/clock.ts'

const MAX_HASHES = 1000
const hashes = new Map<string, string>()

/** The start of a credential's hash: distinguishes accounts without keeping their credentials. */
export function credentialHash(credential: string): string {
  const known = hashes.get(credential)
  if (known !== undefined) return known
  const hash = createHash('sha256').update(credential).digest('hex').slice(0, 12)
  if (hashes.size < MAX_HASHES) hashes.set(credential, hash)
  return hash
}

/** How the exchange of a call ended. */
type Ending =
  /** Everything was handed to the connection. */
  | 'whole'
  /** The caller was gone before that. */
  | 'client-gone'
  /** The sandbox broke the answer off, or gave none, as a switch said. */
  | 'cut'
  /** Sent, but damaged: bytes that are no answer, or another status. */
  | 'damaged'

/** What an answer is to the payer. */
export type CallOutcome = 'completed' | 'incomplete' | 'blocked' | 'failed'

/** Figures of a call's usage, whatever its wire calls them. */
export interface CallUsage {
  /** All input, cache reads and cache writes included, tool results of built-in tools not. */
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly cache_write_5m_tokens: number
  readonly cache_write_1h_tokens: number
  /** All output, reasoning included. */
  readonly output_tokens: number
  readonly reasoning_tokens: number
  readonly tool_prompt_tokens: number
}

/** The record of a call when it is accepted. */
export interface CallFacts {
  readonly id: string
  readonly family: string
  readonly model: string
  readonly requestedModel: string
  readonly clientMarker: string | null
  readonly safetyIdentifier: string | null
  /** Start of the credential's hash. */
  readonly credential: string
  readonly acceptedAtMs: number
  readonly stream: boolean
  readonly outcome: CallOutcome
  readonly failCode: string | null
  readonly usage: CallUsage
  /** As its own wire reports it. */
  readonly wireUsage: unknown
  /** Calls of built-in tools, by the tool's name. */
  readonly toolCalls: Readonly<Record<string, number>>
  /** Image families made so many pictures of this kind. */
  readonly pictures?: { readonly count: number; readonly size: string; readonly quality?: string }
}

/** Follows the answer of one accepted call to its end. */
export class AcceptedCall {
  readonly seq: number
  readonly facts: CallFacts
  ending: Ending | null = null
  endedAtMs: number | null = null
  httpStatus: number | null = null
  frames = 0
  bytes = 0
  usageSent = false
  errorSent = false
  readonly #nowMs: () => number

  constructor(seq: number, facts: CallFacts, nowMs: () => number) {
    this.seq = seq
    this.facts = facts
    this.#nowMs = nowMs
  }

  /** Bytes of the body that were handed to the connection. */
  wrote(bytes: number): void {
    this.bytes += bytes
  }

  /** A whole frame of a stream was handed to the connection. */
  wroteFrame(usage: boolean): void {
    this.frames += 1
    if (usage) this.usageSent = true
  }

  /** The first reported ending counts. */
  end(ending: Ending): void {
    if (this.ending !== null) return
    this.ending = ending
    this.endedAtMs = this.#nowMs()
  }
}

/** What narrows a list of calls; absent or null members match everything. */
export interface CallFilter {
  readonly family?: string | null
  readonly client_marker?: string | null
  readonly model?: string | null
}

/** The last accepted calls, in memory: what a test compares a ledger with. */
export class CallStore {
  readonly #calls = new Map<number, AcceptedCall>()
  readonly #maxCalls: number
  readonly #nowMs: () => number
  #seq = 0
  #forgotten = 0

  constructor(maxCalls: number, nowMs: () => number) {
    this.#maxCalls = maxCalls
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#calls.size
  }

  /** The number of old calls that were dropped from the list. */
  get forgotten(): number {
    return this.#forgotten
  }

  accept(facts: CallFacts): AcceptedCall {
    this.#seq += 1
    const call = new AcceptedCall(this.#seq, facts, this.#nowMs)
    this.#calls.set(call.seq, call)
    if (this.#calls.size > this.#maxCalls) {
      this.#calls.delete(this.#seq - this.#maxCalls)
      this.#forgotten += 1
    }
    return call
  }

  /** Calls after a sequence number, oldest first; at most `limit`. */
  list(after: number, limit: number, filter: CallFilter = {}): readonly AcceptedCall[] {
    const fits = (wanted: string | null | undefined, value: string | null): boolean =>
      wanted === undefined || wanted === null || wanted === value
    const found: AcceptedCall[] = []
    const first = Math.max(after + 1, this.#seq - this.#calls.size + 1)
    for (let seq = first; seq <= this.#seq && found.length < limit; seq += 1) {
      const call = this.#calls.get(seq)
      if (
        call !== undefined &&
        fits(filter.family, call.facts.family) &&
        fits(filter.client_marker, call.facts.clientMarker) &&
        fits(filter.model, call.facts.model)
      ) {
        found.push(call)
      }
    }
    return found
  }

  reset(): void {
    this.#calls.clear()
    this.#forgotten = 0
  }
}

/** An accepted call as `GET /__sandbox/calls` lists it. */
export type CallView = Readonly<ReturnType<typeof callView>>

/** An accepted call as of now. */
export function callView(call: AcceptedCall) {
  const { facts } = call
  return {
    seq: call.seq,
    /** The id its answer bears. */
    id: facts.id,
    family: facts.family,
    /** As offered; answers bear a versioned name. */
    model: facts.model,
    requested_model: facts.requestedModel,
    client_marker: facts.clientMarker,
    safety_identifier: facts.safetyIdentifier,
    credential: facts.credential,
    accepted_at: toTimestamp(facts.acceptedAtMs),
    stream: facts.stream,
    outcome: facts.outcome,
    fail_code: facts.failCode,
    /** `outcome` is not `failed`: this upstream charges for it. */
    success: facts.outcome !== 'failed',
    /** What it reports, or would have reported. */
    usage: facts.usage,
    /** The usage in the names of the wire. */
    wire_usage: facts.wireUsage,
    /** Whether its final usage was handed to the connection. */
    usage_sent: call.usageSent,
    /** Whether an error was sent in the midst of the stream. */
    error_sent: call.errorSent,
    tool_calls: facts.toolCalls,
    pictures: facts.pictures ?? null,
    http_status: call.httpStatus,
    frames_written: call.frames,
    bytes_written: call.bytes,
    /** The exchange is over. */
    finished: call.ending !== null,
    ending: call.ending,
    client_gone: call.ending === 'client-gone',
    ended_at: call.endedAtMs === null ? null : toTimestamp(call.endedAtMs),
  }
}
