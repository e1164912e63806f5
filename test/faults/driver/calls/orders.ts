import type { Owed } from '../bill.ts'
import type { ImageOrder } from '../images/orders.ts'
import { owedForImages } from '../images/prices.ts'
import type { SpeechOrder } from '../speech/orders.ts'
import { owedForSpeech } from '../speech/prices.ts'
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
