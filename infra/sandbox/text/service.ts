import type { NewCall } from '../calls/answer.ts'
import type { Asker } from '../calls/run.ts'
import type { CallOutcome } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import type { Faults } from '../faults/vocabulary.ts'
import { IdMaker } from '../kit/random.ts'
import type { TextAsk } from './ask.ts'
import { PrefixCache } from './cache.ts'
import { scriptOf, type Script } from './script.ts'

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
}

const OUTCOMES: Readonly<Record<Script['end'], CallOutcome>> = {
  stop: 'completed',
  tools: 'completed',
  length: 'incomplete',
  blocked: 'blocked',
}

/** What is recorded of a call that gets such an answer. */
export function callOf(ask: TextAsk, script: Script, id: string, wireUsage: unknown): NewCall {
  const toolCalls: Record<string, number> = {}
  for (const name of script.builtins) toolCalls[name] = (toolCalls[name] ?? 0) + 1
  return {
    id,
    model: ask.model.name,
    requestedModel: ask.requestedModel,
    stream: ask.stream,
    outcome: OUTCOMES[script.end],
    usage: script.usage,
    wireUsage,
    toolCalls,
  }
}
