import type { TObject } from 'typebox'
import { furtherMembers } from '../../../kernel/body.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { refuse } from './fields.ts'

/**
 * Members of requests, of official clients, vendors and intermediaries, that change what a call
 * costs, or which model answers it. Surfaces that pass on unknown members search for these.
 */

/** Whether a value selects the default, so that the member changes nothing. */
type IsUsual = (value: unknown) => boolean
type Members = Readonly<Record<string, IsUsual>>

const isOff: IsUsual = (value) => value === false
const isNothing: IsUsual = (value) =>
  value === false ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isJsonObject(value) && Object.keys(value).length === 0)
const isOne: IsUsual = (value) => value === 1
const never: IsUsual = () => false
const isInMemory: IsUsual = (value) => typeof value === 'string' && /^in[-_]memory$/i.test(value)
const isText: IsUsual = (value) =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && /^text$/i.test(one))
const USUAL_WORDS =
  /^(?:auto|default|standard|standard_only|normal|on_demand|(?:service_tier_)?unspecified|service_tier_standard)$/i

export const isUsualWord: IsUsual = (value) => typeof value === 'string' && USUAL_WORDS.test(value)

function all(isUsual: IsUsual, names: string): Members {
  return Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, isUsual]),
  )
}

/** Members of every wire. */
const anyWire: Members = {
  ...all(isUsualWord, 'service_tier speed mode tier'),
  ...all(isText, 'modalities response_modalities output_modalities'),
  // Longer than in memory, and written where a caller says so, a cache costs more.
  ...all(isInMemory, 'prompt_cache_retention'),
  ...all(isOne, 'n best_of candidate_count num_completions num_return_sequences'),
  ...all(
    isNothing,
    `audio voice speech_config image_config video_config translation_config prediction
    models provider providers route routing routing_config model_config model_selection_config
    model_list fallbacks fallback_models context_window_fallbacks content_policy_fallbacks preset
    plugins transforms extra_body extra_headers extra_query deployment deployment_id
    custom_llm_provider api_base base_url api_key inference_geo betas anthropic_beta container
    enable_search search_options search_parameters web_search deferred
    prompt_cache_options context_management access_programs
    lora lora_request adapter adapter_id draft_model
    user_config mock_response mock_tool_calls mock_timeout mock_testing_fallbacks
    mock_testing_context_fallbacks mock_testing_content_policy_fallbacks
    litellm_params litellm_credential_name vertex_credentials azure_ad_token
    aws_bedrock_runtime_endpoint`,
  ),
  // Some servers follow these bounds of the output instead of the wire's own.
  ...all(never, 'max_new_tokens max_gen_len max_length n_predict num_predict'),
}

/** Members of pictures: animations, drawings and further pictures. An empty object asks for one. */
const ofImages: Members = {
  ...all(isOne, 'num_images number_of_images batch_size'),
  ...all(isOff, 'frame_count frame_duration_ms gif svg complexity upscale'),
}

/** Spellings that an account reads as the same member: `serviceTier`, `service_tier`. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')
const LONGEST_NAME = 64
/** Names as callers write them, with the member that each is: most requests repeat the same few. */
const MAX_KNOWN_NAMES = 1_000

/** The members of some wires. */
class PriceMembers {
  readonly names: readonly string[]
  readonly #members: Members
  readonly #byPlainName: ReadonlyMap<string, string>
  readonly #known = new Map<string, string | undefined>()

  constructor(members: Members) {
    this.#members = members
    this.names = Object.keys(members)
    this.#byPlainName = new Map(this.names.map((name) => [plain(name), name]))
  }

  /** The member of a name in any spelling. */
  named(written: string): string | undefined {
    if (written.length > LONGEST_NAME) return undefined
    const known = this.#known.get(written)
    if (known !== undefined || this.#known.has(written)) return known
    const name = this.#byPlainName.get(plain(written))
    if (this.#known.size < MAX_KNOWN_NAMES) this.#known.set(written, name)
    return name
  }

  /** Whether one of `names` has a value that changes nothing. */
  isUsual(name: string, value: unknown): boolean {
    return value === null || value === undefined || this.#members[name]?.(value) === true
  }
}

/** Text has them all priced or refused. */
export const textPriceMembers = new PriceMembers(anyWire)
const imagePriceMembers = new PriceMembers({ ...anyWire, ...ofImages })

/**
 * The members of an order of images that its schema does not describe, and that go upstream
 * unchanged.
 * @throws DomainError `invalid_request` naming one that changes the price
 */
export function passedImageMembers(schema: TObject, fields: JsonObject): JsonObject {
  const further = furtherMembers(schema, fields)
  for (const [written, value] of Object.entries(further)) {
    // A form may say more in brackets.
    const name = imagePriceMembers.named(written.replace(/\[.*$/s, ''))
    if (name !== undefined && !imagePriceMembers.isUsual(name, value))
      refuse(
        written,
        `\`${written}\` is not accepted here: it changes what a call costs or which model answers`,
      )
  }
  return further
}
