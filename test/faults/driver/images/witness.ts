import type { ImageOrder } from './orders.ts'

/** One order as its caller knows it; retries under its key belong to it. */
export interface Ordered {
  readonly order: ImageOrder
  /** Of answers that bear them, whatever they say. */
  readonly callIds: Set<string>
  readonly platformIds: Set<string>
  /** It was told that its result is whole. */
  delivered: boolean
  /** The status and code it was refused with. */
  refused: string | undefined
}

/** What callers saw of one file. */
export interface SeenFile {
  deletionTried: boolean
  deleted: boolean
}

/** Everything callers of images know. */
export class ImageWitness {
  readonly ordered = new Map<string, Ordered>()
  /** By id, of answers that said it was taken. */
  readonly files = new Map<string, SeenFile>()
  /** The last status shown of each asynchronous order. */
  readonly shown = new Map<string, string>()

  order(order: ImageOrder): Ordered {
    const nothing = { callIds: new Set<string>(), platformIds: new Set<string>() }
    const ordered: Ordered = { order, ...nothing, delivered: false, refused: undefined }
    this.ordered.set(order.marker, ordered)
    return ordered
  }
}
