import type { Owed } from '../bill.ts'
import { type ImageOrder, owedForImages } from '../images/orders.ts'
import { owedForSpeech, type SpeechOrder } from '../speech/orders.ts'
import type { UpstreamCall } from '../upstream-record.ts'

/** The orders of a run, of whatever family. */

export type CallOrder = ImageOrder | SpeechOrder

/** Switches after which upstream made what its caller cannot be given. */
const LOSING =
  /^(?:drop-after-accept|hang-after-accept|http-after-accept=|malformed|truncated|garbage|bad-http|black|no-usage|cut-after=|cut-before-usage|error-after=)/

/** Whether a success of upstream's may come to nothing here, without a process that died. */
export function mayBeLost({ family, switches }: CallOrder): boolean {
  // A clone that was made is billed whatever its answer counts.
  const isCounted = (word: string): boolean => family === 'voice-clone' && word === 'no-usage'
  return switches.some((word) => LOSING.test(word) && !isCounted(word))
}

/** What is owed for an answer of upstream's that reached its caller. */
export function owedFor(order: CallOrder, upstream: UpstreamCall): readonly Owed[] {
  switch (order.family) {
    case 'image':
    case 'gen':
    case 'art-b':
      return owedForImages(order, upstream)
    case 'speech':
    case 'voice-clone':
      return owedForSpeech(order, upstream)
  }
}

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
interface SeenFile {
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
