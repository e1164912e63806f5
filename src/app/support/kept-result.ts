import { fromTimestamp } from '../../kernel/clock.ts'
import { RESULT_LIFE_MS } from '../../storage/object-key.ts'
import type { Opening } from '../finance/receipts/status.ts'
import type { Receipt } from '../finance/receipts/types.ts'

/** Whether the result of a request is kept, by whom, and until when. */
export interface KeptResult {
  /** `answer`: for the same `Idempotency-Key`; `files`: those that the answer links to; `result`: of a task. */
  readonly what: 'answer' | 'files' | 'result'
  readonly keptBy: 'gateway' | 'provider' | undefined
  /** Unix milliseconds; undefined where nothing is kept, or the provider has not said. */
  readonly untilMs: number | undefined
}

/** Reads when the links to the result of a task at its provider end, Unix milliseconds; undefined: none is known. */
export type UrlsEndOf = (taskId: string) => Promise<number | undefined>

/** An answer is kept under its key for so long, counted from the request. */
const KEY_LIFE_MS = 24 * 3_600_000

function keptOfCall(opening: Opening, surface: string, endedAtMs: number): KeptResult {
  if ('idempotency' in opening.data && 'startedAt' in opening.data)
    return {
      what: 'answer',
      keptBy: 'gateway',
      untilMs: fromTimestamp(opening.data.startedAt) + KEY_LIFE_MS,
    }
  // The answer may link to images, which the gateway keeps.
  if (/images/.test(surface))
    return { what: 'files', keptBy: 'gateway', untilMs: endedAtMs + RESULT_LIFE_MS }
  return { what: 'answer', keptBy: undefined, untilMs: undefined }
}

/** Finds whether a settled request's result is kept; undefined for one without a result. @throws what `urlsEndOf` throws */
export async function keptResultOf(
  urlsEndOf: UrlsEndOf,
  opening: Opening,
  { sourceId, kind, state, surface }: Receipt,
  endedAtMs: number,
): Promise<KeptResult | undefined> {
  if (state !== 'settled') return undefined
  if (kind === 'call') return keptOfCall(opening, surface, endedAtMs)
  // The gateway itself keeps the images of its asynchronous tasks; the other results stay with the provider.
  if (sourceId.startsWith('image_'))
    return { what: 'result', keptBy: 'gateway', untilMs: endedAtMs + RESULT_LIFE_MS }
  return { what: 'result', keptBy: 'provider', untilMs: await urlsEndOf(sourceId) }
}
