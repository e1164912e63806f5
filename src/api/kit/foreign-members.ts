import { namesIn } from './names.ts'

/**
 * Members of a creation that some surface here or a vendor's documented interface has. Where a route
 * has not, what was meant would silently not happen, and be charged all the same: they are refused.
 */

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
`
  .trim()
  .split('\n')
  .map((line) => namesIn(line))

/** The rest of what the surfaces and the vendors' interfaces have. */
const others = namesIn(`
  return_last_frame draft priority camera_fixed seed cfg_scale camera_control movement_amplitude bgm
  off_peak wm_position wm_url subjects videos is_rec audio_type effect prompt_optimizer fast_pretreatment
  subject_reference model_name external_task_id person_generation sample_count enhance_prompt
  sequential_image_generation sequential_image_generation_options optimize_prompt_options
  guidance_scale input_fidelity partial_images output_compression background mask
  emotion sound_effects audio_setting voice_modify pronunciation_dict language_boost subtitle_enable
  text_file_id timber_weights need_noise_reduction need_volume_normalization clone_prompt text_validation
  generationConfig generation_config safetySettings toolConfig cachedContent
  previous_response_id include max_tool_calls`)

const meanings: ReadonlyMap<string, readonly string[]> = new Map([
  ...others.map((name) => [name, []] as const),
  ...sameMeaning.flatMap((names) => names.map((name) => [name, names] as const)),
])

/**
 * What is said of a member that another interface has and this one, by the names it takes, has not;
 * undefined for a member of no interface.
 */
export function foreignMember(name: string, taken: ReadonlySet<string>): string | undefined {
  const names = meanings.get(name)
  if (names === undefined) return undefined
  const counterpart = names.find((one) => taken.has(one))
  return counterpart === undefined
    ? `\`${name}\` is not taken here`
    : `\`${name}\` is not taken here; use \`${counterpart}\``
}
