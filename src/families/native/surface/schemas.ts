import { Type } from 'typebox'
import { settings } from './generation-config.ts'
import { open } from './names.ts'

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
