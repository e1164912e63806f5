import { Type } from 'typebox'

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
