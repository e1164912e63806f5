import { type AcceptedCall, type CallOutcome, credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import type { PromptMarkers } from '../faults/marker.ts'
import type { Faults } from '../faults/vocabulary.ts'
import { IdMaker } from '../kit/random.ts'
import type { TextAsk } from './ask.ts'
import { PrefixCache } from './cache.ts'
import { type Script, scriptOf } from './script.ts'

/** Who asked, and what they call themselves. */
export interface Asker {
  readonly credential: string
  readonly markers: PromptMarkers
  readonly safetyIdentifier: string | null
}

/** What the text families share: ids, the prompt cache, the record of what was accepted. */
export class TextService {
  readonly ids: IdMaker
  readonly #kit: FamilyKit
  readonly #cache: PrefixCache

  constructor(kit: FamilyKit) {
    this.#kit = kit
    this.ids = new IdMaker(kit.random)
    this.#cache = new PrefixCache(kit.clock.nowMs)
    kit.onReset(() => this.#cache.reset())
  }

  /** Seconds since 1970. */
  nowSeconds(): number {
    return Math.floor(this.#kit.clock.nowMs() / 1000)
  }

  /** Decides an answer. @throws UnknownSwitch */
  plan(ask: TextAsk, asker: Asker, faults: Faults): Script {
    return scriptOf(ask, faults, (asked) => this.#cache.use(asked, asker.credential))
  }

  /** Records an accepted call. */
  accept(call: {
    readonly family: string
    readonly id: string
    readonly ask: TextAsk
    readonly asker: Asker
    readonly script: Script
    readonly wireUsage: unknown
    readonly failCode: string | null
  }): AcceptedCall {
    const { ask, asker, script } = call
    return this.#kit.calls.accept({
      id: call.id,
      family: call.family,
      model: ask.model.name,
      requestedModel: ask.requestedModel,
      clientMarker: asker.markers.clientMarker,
      safetyIdentifier: asker.safetyIdentifier,
      credential: credentialHash(asker.credential),
      acceptedAtMs: this.#kit.clock.nowMs(),
      stream: ask.stream,
      outcome: call.failCode === null ? OUTCOMES[script.end] : 'failed',
      failCode: call.failCode,
      usage: script.usage,
      wireUsage: call.wireUsage,
      toolCalls: script.builtins.length === 0 ? NO_TOOLS : tally(script.builtins),
    })
  }
}

const OUTCOMES: Readonly<Record<Script['end'], CallOutcome>> = {
  stop: 'completed',
  tools: 'completed',
  length: 'incomplete',
  blocked: 'blocked',
}

const NO_TOOLS: Readonly<Record<string, number>> = {}

function tally(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
