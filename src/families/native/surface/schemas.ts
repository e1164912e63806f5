import { Type } from 'typebox'
import type { AlsoKnown } from '../../../api/kit/names.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'

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
    if (Object.hasOwn(renamed, camel)) refuse(path, `\`${path}\` is given twice`)
    renamed[camel] = value
  }
  return renamed
}

/** Members that official clients write beside those of the schemas, in camel case. */
export const alsoInNative: AlsoKnown = {
  '': `model systemInstruction toolConfig safetySettings cachedContent labels
    store serviceTier topK mode models stream`,
  'contents[].parts[]': `
    functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse
    thought thoughtSignature videoMetadata mediaResolution partMetadata`,
  'contents[].parts[].inline_data': 'displayName',
  'contents[].parts[].file_data': 'displayName',
  generationConfig: `
    temperature topP topK maxOutputTokens candidateCount stopSequences seed speed
    responseMimeType responseSchema responseJsonSchema _responseJsonSchema responseFormat
    responseModalities responseLogprobs logprobs presencePenalty frequencyPenalty
    speechConfig imageConfig videoConfig mediaResolution audioTimestamp translationConfig
    routingConfig modelConfig modelSelectionConfig labels
    enableEnhancedCivicAnswers enableAffectiveDialog`,
  'generationConfig.thinkingConfig': 'includeThoughts',
}

/** Shapes of native content generation; other members pass. */

const open = { additionalProperties: true }
const Anything = Type.Object({}, open)

const PartSchema = Type.Object(
  {
    text: Type.Optional(Type.String()),
    inline_data: Type.Optional(
      Type.Object({ mime_type: Type.String(), data: Type.String({ description: 'Base64.' }) }),
    ),
    file_data: Type.Optional(
      Type.Object(
        { mime_type: Type.Optional(Type.String()), file_uri: Type.String() },
        { description: 'Public https:// URL of a video; gen-3-pro-preview-file only.' },
      ),
    ),
  },
  open,
)

export const GenerateBodySchema = Type.Object(
  {
    contents: Type.Array(
      Type.Object({ role: Type.Optional(Type.String()), parts: Type.Array(PartSchema) }, open),
      { minItems: 1 },
    ),
    generationConfig: Type.Optional(
      Type.Object(
        {
          thinkingConfig: Type.Optional(
            Type.Object(
              {
                thinkingLevel: Type.Optional(Type.String()),
                thinkingBudget: Type.Optional(Type.Integer()),
              },
              open,
            ),
          ),
        },
        { ...open, description: 'Wins over the flat members.' },
      ),
    ),
    tools: Type.Optional(
      Type.Array(Anything, {
        description: 'Functions, code execution, URLs and searches; each search is charged.',
      }),
    ),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
    top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
  },
  {
    ...open,
    description:
      'Names may be written in camel or snake case. Other members are passed on, but for those that change the price or the model; `cachedContent` is refused.',
    examples: [{ contents: [{ parts: [{ text: 'Hello' }] }] }],
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
