import type { TaskKind } from '../../kernel/ids.ts'
import type { BilledSku, PriceBook } from '../pricing/price-book.ts'
import type { Quote, Settlement } from '../pricing/settlement.ts'
import type { TaskFacts } from '../task/events.ts'
import type { Usage } from '../pricing/usage.ts'
import type { SimpleVideoRules } from './simple-video.ts'

/** A model of a family of asynchronous tasks. */
export interface TaskModel {
  /** The external name: callers send it, and every echo and every ledger line shows it. */
  readonly name: string
  /** Names that are accepted too, and replaced by `name`. */
  readonly aliases: readonly string[]
  /** Absent where models belong to no region. */
  readonly region?: 'domestic' | 'overseas'
}

/** The data that settles a success; `output` has the actual specs by wire name. */
export interface TaskSuccess {
  readonly model: string
  readonly facts: TaskFacts
  readonly quote: Quote
  readonly usage: Usage
  readonly output: Readonly<Record<string, string | number | boolean | null>>
}

/** Rules of a family for the life of its tasks. Pure. */
export interface TaskFamilyRules {
  /** Name of the family in channel files and events. */
  readonly family: string
  /** Prefix of its platform ids. */
  readonly idKind: TaskKind
  /** Time that upstream allows an execution to take: default and maximum. */
  readonly defaultExpiryS: number
  readonly longestExpiryS: number
  /** The shortest expiry that callers may ask for; absent where they may not. */
  readonly shortestExpiryS?: number
  /**
   * Present if upstream has no tasks and a gateway worker makes the result in one call. The gateway
   * waits no longer than this after the start; it is longer than any channel may take to answer.
   */
  readonly localExecution?: { readonly longestS: number }
  /** Rows stay for ever: settling an old task needs its row. */
  readonly models: readonly TaskModel[]
  /** Finds a model by external name or alias. */
  readonly resolve: (name: string) => TaskModel | undefined
  /**
   * Every SKU the settlement can use, with prices frozen, and the hold, which is an estimate.
   * @throws DomainError `price_not_configured` with `details.sku`; a defect for a name not resolved
   */
  readonly quote: (model: string, facts: TaskFacts, book: PriceBook) => Quote
  /**
   * Undefined: there is no usable usage yet. The gateway never settles a success at a guess (P4,
   * P5).
   */
  readonly settle: (success: TaskSuccess) => Settlement | undefined
  /** Every SKU by which a result of a model may be billed, whatever the request. */
  readonly prices: (model: string) => readonly BilledSku[]
  /** Present where its tasks can use assets, so that its accounts may have a library of them. */
  readonly takesAssets?: true
  /** Present where its tasks are videos that can be asked for without knowing the family. */
  readonly simpleVideo?: SimpleVideoRules
}
