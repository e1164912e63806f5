import type { CallOrder } from './orders.ts'

/** One order as its caller knows it; retries under its key belong to it. */
export interface Ordered {
  readonly order: CallOrder
  /** Of answers that bear them, whatever they say. */
  readonly callIds: Set<string>
  readonly platformIds: Set<string>
  /** It was told that its result is whole. */
  delivered: boolean
  /** The status and code it was refused with. */
  refused: string | undefined
  /** How often it was sent: more than once only under its key. */
  sent: number
}

/** What callers saw of one file. */
export interface SeenFile {
  deletionTried: boolean
  deleted: boolean
}

/** Everything callers of what is answered at once know. */
export class CallWitness {
  readonly ordered = new Map<string, Ordered>()
  /** By id, of answers that said it was taken. */
  readonly files = new Map<string, SeenFile>()
  /** Markers of samples that were sent to be kept. */
  readonly uploads = new Set<string>()
  /** Ids of those that were taken, and the names of voices that were cloned of them. */
  readonly samples = new Set<string>()
  readonly voices = new Set<string>()
  /** The last status shown of each asynchronous order. */
  readonly shown = new Map<string, string>()

  order(order: CallOrder): Ordered {
    const nothing = { callIds: new Set<string>(), platformIds: new Set<string>() }
    const ordered: Ordered = { order, ...nothing, delivered: false, refused: undefined, sent: 0 }
    this.ordered.set(order.marker, ordered)
    return ordered
  }
}
