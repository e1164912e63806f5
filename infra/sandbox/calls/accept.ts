import type { FamilyKit } from '../family.ts'
import type { Asker } from '../text/service.ts'
import { type AcceptedCall, type CallFacts, credentialHash } from './store.ts'

/** What an image family records of a call it accepted. */
export interface AcceptedPictures {
  readonly family: string
  readonly id: string
  readonly model: string
  readonly stream: boolean
  readonly failCode: string | null
  readonly inputTokens: number
  readonly outputTokens: number
  readonly wireUsage: unknown
  readonly pictures: NonNullable<CallFacts['pictures']>
  readonly toolCalls?: Readonly<Record<string, number>>
}

/** Records an accepted call for pictures. */
export function acceptPictures(
  kit: Pick<FamilyKit, 'calls' | 'clock'>,
  asker: Asker,
  made: AcceptedPictures,
): AcceptedCall {
  const { inputTokens, outputTokens, failCode, toolCalls = {}, ...facts } = made
  return kit.calls.accept({
    ...facts,
    failCode,
    requestedModel: made.model,
    clientMarker: asker.markers.clientMarker,
    safetyIdentifier: asker.safetyIdentifier,
    credential: credentialHash(asker.credential),
    acceptedAtMs: kit.clock.nowMs(),
    outcome: failCode === null ? 'completed' : 'failed',
    usage: {
      input_tokens: inputTokens,
      cached_input_tokens: 0,
      cache_write_5m_tokens: 0,
      cache_write_1h_tokens: 0,
      output_tokens: outputTokens,
      reasoning_tokens: 0,
      tool_prompt_tokens: 0,
    },
    toolCalls,
  })
}
