import { type Static, Type } from 'typebox'
import { given, optionalObject } from '../../../api/kit/member-checks.ts'
import { readBodyWithoutNulls, Unwanted } from '../../../kernel/body.ts'
import { isJsonObject, type JsonObject, membersGiven } from '../../../kernel/json.ts'
import { camelMembers, open } from './names.ts'

/** Settings of a generation: in `generationConfig`, or flat in the body; what it says itself wins. */

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
  open,
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
    ...open,
    description: 'Wins over the flat members.',
    knownExtraFields: `
      topK seed speed
      responseMimeType responseSchema responseJsonSchema _responseJsonSchema responseFormat
      responseModalities responseLogprobs logprobs presencePenalty frequencyPenalty
      speechConfig imageConfig videoConfig mediaResolution audioTimestamp translationConfig
      routingConfig modelConfig modelSelectionConfig labels
      enableEnhancedCivicAnswers enableAffectiveDialog`,
  },
)

/** Members of the body that say how it is to be answered. */
const settings = {
  generationConfig: Type.Optional(GenerationConfig),
  cachedContent: Unwanted(
    'is not offered: send the content itself, what repeats is cached by itself',
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
  const thinking = config && given(config, 'thinkingConfig')
  const inCamel = isJsonObject(thinking)
    ? { thinkingConfig: camelMembers(thinking, 'generationConfig.thinkingConfig') }
    : {}
  const written = config && { ...config, ...inCamel }
  const folded = foldedMembers(
    readBodyWithoutNulls(Settings, {
      generationConfig: written ?? null,
      cachedContent: given(body, 'cachedContent') ?? null,
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

/** Parts hold parts again, under names in either spelling: their reader judges them. */
const PartSchema = Type.Object(
  {
    text: Type.Optional(Type.String()),
    inline_data: Type.Optional(
      Type.Object(
        { mime_type: Type.String(), data: Type.String({ description: 'Base64.' }) },
        { knownExtraFields: 'displayName' },
      ),
    ),
    file_data: Type.Optional(
      Type.Object(
        { mime_type: Type.Optional(Type.String()), file_uri: Type.String() },
        {
          description: 'Public https:// URL of a video; gen-3-pro-preview-file only.',
          knownExtraFields: 'displayName',
        },
      ),
    ),
  },
  {
    ...open,
    knownExtraFields: `
      functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse
      thought thoughtSignature videoMetadata mediaResolution partMetadata`,
  },
)

export const GenerateBodySchema = Type.Object(
  {
    contents: Type.Array(
      Type.Object({ role: Type.Optional(Type.String()), parts: Type.Array(PartSchema) }, open),
      { minItems: 1 },
    ),
    tools: Type.Optional(
      Type.Array(Anything, {
        description: 'Functions, code execution, URLs and searches; each search is charged.',
      }),
    ),
    ...settings,
  },
  {
    ...open,
    description:
      'Names may be written in camel or snake case. Other members are passed on, but for those that change the price or the model; `cachedContent` is refused.',
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
    modelVersion: Type.Optional(Type.String({ description: 'The name that was asked for.' })),
  },
  open,
)

export const ModelParamsSchema = Type.Object({ model: Type.String() })

export const StreamQuerySchema = Type.Object(
  { alt: Type.Optional(Type.String({ description: '`sse`.' })) },
  open,
)
