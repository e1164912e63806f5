import type { ImageKind } from '../../domain/families/image-rules.ts'
import type { AlsoKnown } from '../kit/names.ts'

/** Members that official clients and compatible services write beside those of the schemas. */

const anywhere = `
  top_p top_k top_a min_p typical_p seed stop stop_token_ids n best_of min_tokens
  frequency_penalty presence_penalty repetition_penalty length_penalty
  logit_bias logprobs top_logprobs
  user metadata store service_tier safety_identifier moderation speed
  prompt_cache_key prompt_cache_options prompt_cache_retention cache_control
  mode models provider route plugins transforms session_id extra_body
  thinking thinking_budget enable_thinking reasoning reasoning_effort verbosity
  parallel_tool_calls modalities audio response_format`
const format = 'json_schema name schema strict description grammar regex'

export const alsoInChat: AlsoKnown = {
  '': `${anywhere}
    max_tokens max_completion_tokens function_call prediction include_reasoning do_sample
    chat_template_kwargs tool_stream request_id user_id usage`,
  'messages[]': `
    name tool_calls tool_call_id function_call refusal audio annotations
    reasoning reasoning_content reasoning_details thinking thinking_blocks
    prefix partial phase cache_control images type`,
  stream_options: 'include_obfuscation chunk_include_usage continuous_usage_stats',
  response_format: format,
}

export const alsoInResponses: AlsoKnown = {
  '': `${anywhere}
    instructions include max_output_tokens max_tool_calls tool_choice text truncation messages
    prompt conversation background context_management stream_options`,
  response_format: format,
}

const ofImages = `
  image images mask stream partial_images watermark style tools
  sequential_image_generation sequential_image_generation_options optimize_prompt_options`

export const alsoInImages = {
  generation: { '': ofImages },
  edit: { '': `${ofImages} input_fidelity` },
} as const satisfies Readonly<Record<ImageKind, AlsoKnown>>
