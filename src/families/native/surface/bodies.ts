import { type Static, type TSchema, Type } from 'typebox'
import { memberOrUndefined, optionalObject } from '../../../api/kit/bodies/member-checks.ts'
import { isBase64 } from '../../../kernel/base64.ts'
import { readBody, RefusedMember } from '../../../kernel/body.ts'
import { isJsonObject, type JsonObject, membersGiven } from '../../../kernel/json.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'

/** Members of native bodies have two spellings: upstream's camel case, and snake case. */

/** For an object whose other members are passed on. */
const open = { additionalProperties: true }

/** `max_output_tokens` → `maxOutputTokens`; one at the beginning stays. */
function camelCase(name: string): string {
  return name.replace(/(?!^)_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Both ways a name may be written. */
export function spellings(name: string): readonly string[] {
  return [camelCase(name), snakeCase(name)]
}

/**
 * The members of an object under their camel-case names, one level deep: callers may write either,
 * but not both of one name. @throws DomainError `invalid_request`
 */
export function camelMembers(object: JsonObject, at: string): JsonObject {
  const renamed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(object)) {
    const camel = camelCase(name)
    const path = at === '' ? name : `${at}.${name}`
    const other = renamed[camel] ?? null
    if (other !== null && value !== null) refuse(path, `\`${path}\` is given twice`)
    renamed[camel] = value ?? other
  }
  return renamed
}

/**
 * Settings of a generation: in `generationConfig`, or flat in the body; `generationConfig` has
 * priority.
 */

const TEXTS = 'must be text or an array of texts'
const textsFault = (list: readonly unknown[]): string | undefined =>
  list.every((one) => typeof one === 'string') ? undefined : TEXTS

const Temperature = Type.Optional(Type.Number({ minimum: 0, maximum: 2 }))
const TopP = Type.Optional(Type.Number({ minimum: 0, maximum: 1 }))
const Count = Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))

/** Under their names in camel case, which callers may also write in snake case. */
const ThinkingConfig = Type.Object(
  {
    thinkingLevel: Type.Optional(
      Type.String({ pattern: '^[A-Za-z_]{1,32}$', words: 'must be a level such as "high"' }),
    ),
    thinkingBudget: Type.Optional(Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER })),
    includeThoughts: Type.Optional(Type.Boolean()),
  },
  { ...open, named: 'NativeThinkingConfig' },
)

const GenerationConfig = Type.Object(
  {
    temperature: Temperature,
    topP: TopP,
    maxOutputTokens: Count,
    candidateCount: Count,
    stopSequences: Type.Optional(
      Type.Array(Type.Unknown(), {
        check: textsFault,
        documented: { type: 'array', items: { type: 'string' } },
      }),
    ),
    thinkingConfig: Type.Optional(ThinkingConfig),
  },
  {
    named: 'NativeGenerationConfig',
    ...open,
    description: 'Takes precedence over the flat members.',
    knownExtraFields: `
      topK seed speed
      responseMimeType responseSchema responseJsonSchema _responseJsonSchema responseFormat
      responseModalities responseLogprobs logprobs presencePenalty frequencyPenalty
      speechConfig imageConfig videoConfig mediaResolution audioTimestamp translationConfig
      routingConfig modelConfig modelSelectionConfig labels
      enableEnhancedCivicAnswers enableAffectiveDialog`,
  },
)

/** Members of the body that say how to answer it. */
const settings = {
  generationConfig: Type.Optional(GenerationConfig),
  cachedContent: RefusedMember(
    'is not offered: send the content itself; repeated content is cached automatically',
  ),
  temperature: Temperature,
  max_tokens: Count,
  top_p: TopP,
  stop: Type.Optional(
    Type.Unsafe<string | readonly string[]>({
      check: (value: unknown) => textsFault(Array.isArray(value) ? value : [value]),
      documented: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    }),
  ),
}
const Settings = Type.Object(settings, open)

/** The flat members, in camel case. */
export const flatNames = ['temperature', 'maxTokens', 'topP', 'stop'] as const

/**
 * `generationConfig` in camel case with the flat members folded in; undefined when there is neither.
 * @throws DomainError `invalid_request`
 */
export function generationConfig(body: JsonObject): JsonObject | undefined {
  const own = optionalObject(body, 'generationConfig')
  const config = own && camelMembers(own, 'generationConfig')
  const thinking = config && memberOrUndefined(config, 'thinkingConfig')
  const inCamel = isJsonObject(thinking)
    ? { thinkingConfig: camelMembers(thinking, 'generationConfig.thinkingConfig') }
    : {}
  const written = config && { ...config, ...inCamel }
  const folded = foldedMembers(
    readBody(Settings, {
      generationConfig: written ?? null,
      cachedContent: memberOrUndefined(body, 'cachedContent') ?? null,
      temperature: body['temperature'] ?? null,
      max_tokens: body['maxTokens'] ?? null,
      top_p: body['topP'] ?? null,
      stop: body['stop'] ?? null,
    }),
  )
  if (written !== undefined) return { ...folded, ...written }
  return Object.keys(folded).length > 0 ? folded : undefined
}

function foldedMembers({
  temperature,
  max_tokens,
  top_p,
  stop,
}: Static<typeof Settings>): JsonObject {
  return membersGiven<unknown>({
    temperature,
    maxOutputTokens: max_tokens,
    topP: top_p,
    stopSequences: typeof stop === 'string' ? [stop] : stop,
  })
}

/** Shapes of native content generation; other members pass. */

const Anything = Type.Object({}, open)

/**
 * Checked by functions: keywords would count the characters of a text of many megabytes one by one.
 */
const emptyFault = (text: string): string | undefined =>
  text === '' ? 'must not be empty' : undefined
const mediaType = /^[a-z0-9][a-z0-9.+-]{0,63}\/[a-z0-9][a-z0-9.+-]{0,127}(?:\s*;.{0,128})?$/i

const MediaType = Type.String({
  check: (text: string) =>
    emptyFault(text) ??
    (mediaType.test(text) ? undefined : 'must be a media type such as image/png'),
})

const partMembers = {
  text: Type.Optional(Type.String()),
  inline_data: Type.Optional(
    Type.Object(
      {
        mime_type: MediaType,
        data: Type.String({
          check: (text: string) =>
            emptyFault(text) ??
            (isBase64(text, 'either') ? undefined : 'must be Base64 without a prefix'),
          description: 'Base64.',
        }),
      },
      { named: 'NativeInlineData', knownExtraFields: 'displayName' },
    ),
  ),
  file_data: Type.Optional(
    Type.Object(
      { mime_type: Type.Optional(MediaType), file_uri: Type.String({ check: emptyFault }) },
      {
        named: 'NativeFileData',
        description: 'Public https:// URL of a video; gen-3-pro-preview-file only.',
        knownExtraFields: 'displayName',
      },
    ),
  ),
}

const PartSchema = Type.Object(partMembers, {
  named: 'NativePart',
  ...open,
  knownExtraFields: `
    functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse
    thought thoughtSignature videoMetadata mediaResolution partMetadata`,
})

const roles = ['user', 'model', 'function', 'tool'] as const

/** A turn, or the system instruction. */
const contentOf = <Part extends TSchema>(part: Part) =>
  Type.Object(
    {
      role: Type.Optional(
        Type.Enum([...roles], { words: `must be one of ${roles.join(', ')}, or absent` }),
      ),
      parts: Type.Array(part, { minItems: 1, words: { minItems: 'is required' } }),
    },
    open,
  )

const contentsOf = <Content extends TSchema>(content: Content) =>
  Type.Array(content, { minItems: 1, words: 'must be an array that is not empty' })

/** The members of a part that are read; the answer of a function may hold parts again. */
export interface ReadPart {
  readonly file_data?: { readonly file_uri: string }
  readonly function_response?: { readonly parts?: readonly ReadPart[] }
}

const ReadContent = contentOf(
  Type.Object(
    {
      ...partMembers,
      video_metadata: Type.Optional(Anything),
      function_response: Type.Optional(
        Type.Object(
          {
            parts: Type.Optional(
              Type.Array(
                Type.Unsafe<ReadPart>({
                  $ref: '#/properties/contents/items/properties/parts/items',
                }),
              ),
            ),
          },
          open,
        ),
      ),
    },
    open,
  ),
)

/** The turns of a body and the system instruction; parts have the names of their schema. */
export const ConversationSchema = Type.Object({
  contents: contentsOf(ReadContent),
  systemInstruction: Type.Optional(ReadContent),
})

export const GenerateBodySchema = Type.Object(
  {
    contents: contentsOf(contentOf(PartSchema)),
    tools: Type.Optional(
      Type.Array(Anything, {
        description:
          'Tools: functions, code execution, URL context and searches; each search is charged.',
      }),
    ),
    ...settings,
  },
  {
    named: 'NativeRequest',
    ...open,
    description:
      'Names may be in camel case or snake case. Other members are passed on, except those that change the price or the model; `cachedContent` is refused.',
    examples: [{ contents: [{ parts: [{ text: 'Hello' }] }] }],
    knownExtraFields: `model systemInstruction toolConfig safetySettings labels
      store serviceTier topK mode models stream`,
  },
)

export const GeneratedSchema = Type.Object(
  {
    candidates: Type.Optional(Type.Array(Anything)),
    promptFeedback: Type.Optional(Anything),
    usageMetadata: Type.Optional(Anything),
    modelVersion: Type.Optional(Type.String({ description: 'Model name of the request.' })),
  },
  { ...open, named: 'NativeAnswer' },
)

export const ModelParamsSchema = Type.Object({ model: Type.String() })

export const StreamQuerySchema = Type.Object(
  { alt: Type.Optional(Type.String({ description: '`sse`.' })) },
  open,
)
