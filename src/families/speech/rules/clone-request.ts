import { type Static, Type } from 'typebox'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { isVoiceName } from '../../../domain/voice/decider.ts'
import { readBody } from '../../../kernel/body.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { isPositiveInt64 } from '../../../kernel/int64.ts'
import { type JsonObject, pickMembers } from '../../../kernel/json.ts'
import { aliasedVoice, isBuiltInVoice, speechModel } from './voices.ts'
import { Language, MAX_NAME } from './body.ts'
import { charactersOf } from './request.ts'

/** The body of a clone of a voice, and the rules of its members. */

/** The text that the new voice speaks for an audition; it is billed as speech. */
export interface Audition {
  /** External name. */
  readonly model: string
  readonly text: string
  /** The characters that upstream is expected to count. */
  readonly characters: number
}

/** A parsed request; its files and its voice are not looked up yet. */
export interface CloneRequest {
  /** Name given by its tenant. */
  readonly voiceId: string
  /** The gateway's ids, in decimal. */
  readonly fileId: string
  readonly promptFileId: string | undefined
  readonly promptText: string | undefined
  readonly audition: Audition | undefined
  /** Upstream's members without ids, names and the text. */
  readonly settings: JsonObject
}

const Flag = Type.Optional(Type.Boolean())

/** An id as digits, or as an integer that a double holds. */
const FileId = Type.Unsafe<string | number>({
  check: (id: unknown) =>
    (typeof id === 'string' || Number.isSafeInteger(id)) && isPositiveInt64(String(id))
      ? undefined
      : 'must be the id of a file: an integer, preferably sent as a string',
  documented: {
    anyOf: [{ type: 'string' }, { type: 'integer' }],
    description: 'Id of an uploaded file, preferably as a string.',
  },
})

function voiceNameFault(name: string): string | undefined {
  if (!isVoiceName(name))
    return 'must be 8 to 256 letters, digits, `-` and `_`, begin with a letter, and end with a letter or a digit'
  if (isBuiltInVoice(name) || aliasedVoice(name) !== undefined)
    return 'is the name of a built-in voice'
  return undefined
}

export const CloneBodySchema = Type.Object(
  {
    file_id: FileId,
    voice_id: Type.String({
      maxLength: MAX_NAME,
      check: voiceNameFault,
      description:
        'Name of the new voice: 8 to 256 letters, digits, `-` and `_`; begins with a letter, ends with a letter or a digit.',
    }),
    clone_prompt: Type.Optional(
      Type.Object({
        prompt_audio: Type.Optional(FileId),
        prompt_text: Type.Optional(
          Type.String({ maxLength: 2_000, description: 'Transcript of the recording.' }),
        ),
      }),
    ),
    text: Type.Optional(
      Type.String({
        description: 'Text that the new voice speaks for an audition.',
        maxLength: 1_000,
      }),
    ),
    model: Type.Optional(
      Type.String({
        maxLength: MAX_NAME,
        description: 'Model that speaks the audition; required with `text`.',
      }),
    ),
    language_boost: Language,
    need_noise_reduction: Flag,
    need_volume_normalization: Flag,
    aigc_watermark: Flag,
    text_validation: Type.Optional(Type.String({ maxLength: 200 })),
    accuracy: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  },
  {
    examples: [
      {
        file_id: '424010985738629',
        voice_id: 'MyVoice_001',
        text: 'Good morning.',
        model: 'speech-2.8-hd',
      },
    ],
  },
)

/** @throws DomainError `invalid_request` naming the field, `unknown_model` */
export function readClone(sent: JsonObject): CloneRequest {
  const body = readBody(CloneBodySchema, sent)
  const prompt = body.clone_prompt ?? {}
  return {
    voiceId: body.voice_id,
    fileId: String(body.file_id),
    promptFileId: prompt.prompt_audio === undefined ? undefined : String(prompt.prompt_audio),
    promptText: prompt.prompt_text,
    audition: auditionOf(body),
    settings: pickMembers(body, [
      'language_boost',
      'need_noise_reduction',
      'need_volume_normalization',
      'aigc_watermark',
      'text_validation',
      'accuracy',
    ]),
  }
}

function auditionOf({ text, model }: Static<typeof CloneBodySchema>): Audition | undefined {
  if (model !== undefined && speechModel(model) === undefined)
    throw new DomainError('unknown_model', `the model ${model} is not a speech model`, { model })
  if (text === undefined || text === '') return undefined
  if (model === undefined) return refuse('model', '`model` is required with `text`')
  return { model, text, characters: charactersOf(text) }
}
