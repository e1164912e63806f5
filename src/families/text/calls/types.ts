import type { CallInput } from '../../../app/calls/family.ts'
import type { ChannelDirectory } from '../../../app/channels/directory.ts'
import type { ProviderError } from '../../../app/ports/provider.ts'
import { refusalOf } from '../../../app/channels/refusal.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { JsonText } from '../../../kernel/json-text.ts'
import type { TextProvider } from '../ports.ts'
import type { InputSize } from '../rules/tokens.ts'
import type { TextWireRules } from '../rules/wire.ts'
import type { KeptIds } from './kept-ids.ts'

export interface TextCallInput extends CallInput {
  /** The upstream body without `model`; the provider sets the streaming members. */
  readonly body: JsonObject
  /** The body as the caller wrote it, on a wire that passes it on. */
  readonly written?: JsonText
  /** The caller's headers that the wire passes on as they came; their names are in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** The size of the input, for holds and estimates. */
  readonly inputSize: InputSize
}

/** Dependencies of a wire of text, in addition to those of every call. */
export interface TextDeps {
  readonly wire: TextWireRules
  readonly provider: TextProvider
  readonly channels: Pick<ChannelDirectory, 'byId' | 'serving'>
  readonly keptIds: KeptIds
}

/** A frame for the caller: `event` is the SSE event name where the family has one. */
export interface TextFrame {
  readonly event: string | undefined
  /** JSON text, model already rewritten. */
  readonly data: string
  /** Usage-only chunk of chat streams: for callers who asked for it. */
  readonly usageOnly: boolean
}

/** Upstream's code for a missing previous response. */
const PREVIOUS_NOT_FOUND = 'previous_response_not_found'
/**
 * Upstream's message about a missing item, not always with a code; it names the item by its own id.
 */
const ITEM_NOT_FOUND = /^Item with id '.*' not found/

/** The one refusal of a response, or of an item of one, that upstream or its tenant lacks (P8). */
export function previousNotFound(details: {
  readonly callId?: string | undefined
  readonly param: string
}): DomainError {
  return new DomainError(PREVIOUS_NOT_FOUND, 'The previous response was not found.', details)
}

/** The error that a caller of text gets for a provider's failure; only a call has an id. */
export function textRefusal(error: ProviderError, callId?: string): DomainError {
  if (error.kind === 'invalid' && error.code === PREVIOUS_NOT_FOUND)
    return previousNotFound({ callId, param: 'previous_response_id' })
  if (error.kind === 'invalid' && ITEM_NOT_FOUND.test(error.message))
    return previousNotFound({ callId, param: 'input' })
  return refusalOf(error, callId)
}
