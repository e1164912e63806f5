import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { countOrZero, objectsOf } from '../../kit/http/fields.ts'

/** Tokens of a call as callers of images know them. */
export interface GenUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly total_tokens: number
  readonly input_tokens_details: Modalities
  readonly output_tokens_details: Modalities
}

interface Modalities {
  readonly text_tokens: number
  readonly image_tokens: number
}

/**
 * `usageMetadata`: members that are zero are left out upstream, what tools added to the prompt is
 * input, thoughts are output. Undefined when there is none or a figure is none.
 */
export function genUsage(usage: unknown): GenUsage | undefined {
  if (!isJsonObject(usage)) return undefined
  const [prompt, toolPrompt, candidates, thoughts] = [
    'promptTokenCount',
    'toolUsePromptTokenCount',
    'candidatesTokenCount',
    'thoughtsTokenCount',
  ].map((name) => countOrZero(usage[name]))
  if (prompt === undefined || toolPrompt === undefined) return undefined
  if (candidates === undefined || thoughts === undefined) return undefined
  const [input, output] = [prompt + toolPrompt, candidates + thoughts]
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: modalities(usage, 'promptTokensDetails'),
    output_tokens_details: modalities(usage, 'candidatesTokensDetails'),
  }
}

/** Told for the reader's sake: nothing is settled on it. */
function modalities(usage: JsonObject, name: string): Modalities {
  const of = (modality: string): number =>
    objectsOf(usage[name])
      .filter((detail) => detail['modality'] === modality)
      .reduce((sum, { tokenCount }) => sum + (countOrZero(tokenCount) ?? 0), 0)
  return { text_tokens: of('TEXT'), image_tokens: of('IMAGE') }
}
