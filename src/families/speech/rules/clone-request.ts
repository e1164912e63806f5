import { isPositiveInt64 } from '../../../kernel/int64.ts'
import { type JsonObject, membersGiven } from '../../../kernel/json.ts'
import { isVoiceName } from '../../../domain/voice/name.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { Members } from './members.ts'
import { speechModel } from './models.ts'
import { charactersOf } from './request.ts'
import { aliasedVoice, isBuiltInVoice } from './voices.ts'

/** All field rules of a clone of a voice. */

/** What the new voice is to say at once; it is billed as speech. */
export interface Audition {
  /** External name. */
  readonly model: string
  readonly text: string
  /** What upstream will count, as far as can be told before. */
  readonly characters: number
}

/** A request that was read; whose files and whose voice is meant is not known yet. */
export interface CloneRequest {
  /** As its tenant is to call it. */
  readonly voiceId: string
  /** Ids of ours, in decimal. */
  readonly fileId: string
  readonly promptFileId: string | undefined
  readonly promptText: string | undefined
  readonly audition: Audition | undefined
  /** Upstream's words without ids, names and what is said. */
  readonly settings: JsonObject
}

const MAX_AUDITION = 1_000
const MAX_PROMPT_TEXT = 2_000
const MAX_NAME = 256
const MAX_LANGUAGE = 32
const MAX_VALIDATION = 200

/**
 * Reads a body or refuses it naming the first offending field.
 * @throws DomainError `invalid_request`, `unknown_model`
 */
export function readClone(body: JsonObject): CloneRequest {
  const members = new Members(body)
  const fileId = acceptId(members, 'file_id') ?? refuse('file_id', '`file_id` is required')
  const voiceId = acceptName(members)
  const prompt = members.group('clone_prompt')
  return {
    voiceId,
    fileId,
    promptFileId: acceptId(prompt, 'prompt_audio'),
    promptText: prompt.text('prompt_text', MAX_PROMPT_TEXT),
    audition: acceptAudition(members),
    settings: membersGiven({
      language_boost: members.text('language_boost', MAX_LANGUAGE),
      need_noise_reduction: members.flag('need_noise_reduction'),
      need_volume_normalization: members.flag('need_volume_normalization'),
      aigc_watermark: members.flag('aigc_watermark'),
      text_validation: members.text('text_validation', MAX_VALIDATION),
      accuracy: members.number('accuracy', { min: 0, max: 1 }),
    }),
  }
}

/** An id as digits, or as an integer that a double holds. */
function acceptId(members: Members, name: string): string | undefined {
  const value = members.value(name)
  if (value === undefined) return undefined
  const digits = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  if (typeof digits === 'string' && isPositiveInt64(digits)) return digits
  const at = members.at(name)
  return refuse(at, `\`${at}\` must be the id of a file: an integer, best written as a string`)
}

function acceptName(members: Members): string {
  const name = members.text('voice_id', MAX_NAME)
  if (name === undefined) return refuse('voice_id', '`voice_id` is required')
  if (!isVoiceName(name))
    return refuse(
      'voice_id',
      '`voice_id` must be 8 to 256 letters, digits, `-` and `_`, begin with a letter, and end with a letter or a digit',
    )
  if (isBuiltInVoice(name) || aliasedVoice(name) !== undefined)
    return refuse('voice_id', '`voice_id` is the name of a voice that everybody has')
  return name
}

function acceptAudition(members: Members): Audition | undefined {
  const text = members.text('text', MAX_AUDITION)
  const model = members.text('model', MAX_NAME)
  if (model !== undefined && speechModel(model) === undefined)
    throw new DomainError('unknown_model', `the model ${model} does not speak here`, { model })
  if (text === undefined || text === '') return undefined
  if (model === undefined) return refuse('model', '`model` is required with `text`')
  return { model, text, characters: charactersOf(text) }
}
