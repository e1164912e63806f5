/**
 * Members of a creation that only another interface has. A route without them refuses them:
 * otherwise the option would silently have no effect, and the caller would still be charged.
 */

/** The members that a route refuses if it does not have them itself. */
export interface ForeignNames {
  readonly names: ReadonlySet<string>
  /** Whether names are refused in the objects within a body too. */
  readonly isDeep: boolean
}

/** Members that mean one thing, each line by its names on the interfaces that have it. */
const sameMeaning = `
  seconds duration duration_seconds durationSeconds video_length
  aspect_ratio ratio aspectRatio
  size resolution image_size imageSize video_size
  input_reference image image_url images image_urls imageUrl reference_images first_frame_image content
  last_frame last_frame_image image_tail lastFrame end_image_url
  callback_url callbackUrl CallbackURL webhook_url webhook notify_url
  prompt text input messages contents
  max_tokens max_completion_tokens max_output_tokens maxOutputTokens
  watermark aigc_watermark add_watermark
  generate_audio audio generateAudio with_audio sound
  negative_prompt negativePrompt
  output_format format
  voice_id voice voice_setting
  quality style mode
  instructions system systemInstruction system_instruction
  frames num_frames
  fps frames_per_second framespersecond frame_rate
  execution_expires_after expires_after
  payload meta_data
  user safety_identifier
`
  .trim()
  .split('\n')
  .map((line) => namesIn(line))

const counterparts: ReadonlyMap<string, readonly string[]> = new Map(
  sameMeaning.flatMap((names) => names.map((name) => [name, names] as const)),
)

/**
 * Members of the vendors' documented interfaces that no surface has; the members of the surfaces
 * are in their schemas.
 */
const vendorsNames = namesIn(`
  ${sameMeaning.flat().join(' ')}
  frames frames_per_second framespersecond frame_rate fps models speed
  cfg_scale camera_control subjects videos is_rec audio_type effect prompt_optimizer
  fast_pretreatment subject_reference model_name external_task_id person_generation sample_count
  enhance_prompt extra guidance_scale steps negative_prompt subtitle_type force_cbr
  continuous_sound frame_count frame_duration_ms gif svg complexity`)

/**
 * For routes that leave unknown members out: all members of any interface, given those of the
 * surfaces.
 */
export function foreignToCreations(surfacesNames: Iterable<string>): ForeignNames {
  return { names: new Set([...surfacesNames, ...vendorsNames]), isDeep: true }
}

/**
 * For routes of text, which pass unknown members on: the members in which the text wires differ. A
 * member of another wire would have no effect upstream.
 */
export const foreignToTexts: ForeignNames = {
  names: new Set(
    namesIn(`
      messages input contents prompt
      max_tokens max_completion_tokens max_output_tokens maxOutputTokens
      instructions system systemInstruction system_instruction
      generationConfig generation_config safetySettings safety_settings toolConfig tool_config
      cachedContent cached_content previous_response_id include max_tool_calls`),
  ),
  isDeep: false,
}

/** The accepted names that replace a member. */
export function counterpartOf(name: string, taken: ReadonlySet<string>): string | undefined {
  return counterparts.get(name)?.find((one) => taken.has(one))
}

/** The refusal of a member of another interface. */
export function foreignMemberRefusal(path: string, counterpart: string | undefined): string {
  const refused = `\`${path}\` is not accepted here`
  return counterpart === undefined ? refused : `${refused}; use \`${counterpart}\``
}

/** Names from a text in which blanks separate them. */
export function namesIn(text: string): readonly string[] {
  return text.split(/\s+/).filter((name) => name !== '')
}
