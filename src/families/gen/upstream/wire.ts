import type { ImageAnswer, ImageCall, SentImage } from '../../../app/ports/images.ts'
import { IMAGES } from '../../../domain/catalog/image-rules.ts'
import { invariant } from '../../../kernel/assert.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { type BodyInPieces, InBase64, jsonInPieces } from '../../kit/http/json.ts'
import { keyHeaders } from '../../kit/http/connections.ts'
import { countOrZero, objectOf, objectsOf, textOf } from '../../kit/http/fields.ts'
import { readNativeError } from '../../kit/http/error-bodies.ts'
import type { UpstreamError } from '../../kit/http/refusals.ts'
import type { ImageWire } from '../../kit/image/client.ts'
import { INPUT } from '../rules/pricing.ts'

/** Tokens of a call as callers of images know them. */
interface GenUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly total_tokens: number
  readonly input_tokens_details: Modalities
  readonly output_tokens_details: Modalities
}

interface Modalities {
  readonly text_tokens: number
  readonly image_tokens: number
}

/**
 * Converts `usageMetadata`: upstream omits zero members, counts prompt text of tools as input and
 * thoughts as output. Undefined if it is missing or a figure is invalid.
 */
export function genUsage(usage: unknown): GenUsage | undefined {
  if (!isJsonObject(usage)) return undefined
  const [prompt, toolPrompt, candidates, thoughts] = [
    'promptTokenCount',
    'toolUsePromptTokenCount',
    'candidatesTokenCount',
    'thoughtsTokenCount',
  ].map((name) => countOrZero(usage[name]))
  if (prompt === undefined || toolPrompt === undefined) return undefined
  if (candidates === undefined || thoughts === undefined) return undefined
  const [input, output] = [sumOf(prompt, toolPrompt), sumOf(candidates, thoughts)]
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: sumOf(input, output),
    input_tokens_details: modalities(usage, 'promptTokensDetails'),
    output_tokens_details: modalities(usage, 'candidatesTokensDetails'),
  }
}

/** The sum of two counts may not be a safe integer: it is above every ceiling then. */
function sumOf(one: number, other: number): number {
  return Math.min(one + other, Number.MAX_SAFE_INTEGER)
}

/** For information only: no settlement uses it. */
function modalities(usage: JsonObject, name: string): Modalities {
  const of = (modality: string): number =>
    objectsOf(usage[name])
      .filter((detail) => detail['modality'] === modality)
      .reduce((sum, { tokenCount }) => sum + (countOrZero(tokenCount) ?? 0), 0)
  return { text_tokens: of('TEXT'), image_tokens: of('IMAGE') }
}

/** Image models of native generation: `POST /models/{model}:generateContent`. */
export const genWire: ImageWire = {
  family: 'gen',
  credentialHeaders: keyHeaders,
  request: (call) => ({
    path: `/models/${encodeURIComponent(call.upstreamModel)}:generateContent`,
    body: requestBody(call),
  }),
  readError,
  readAnswer,
}

/** Upstream has no word for a mask. */
const MASK =
  'The last image is a mask of the first one: change only what it shows as transparent, and leave all else as it is.'

function requestBody({ body, inputs, mask }: ImageCall): BodyInPieces {
  const { prompt, size, aspect_ratio: ratio } = body
  const imageConfig = {
    ...(ratio === undefined ? {} : { aspectRatio: ratio }),
    ...(size === undefined ? {} : { imageSize: size }),
  }
  const parts = [
    { text: prompt },
    ...inputs.map(inline),
    ...(mask === undefined ? [] : [{ text: MASK }, inline(mask)]),
  ]
  return jsonInPieces({
    contents: [{ role: 'user', parts }],
    generationConfig: {
      responseModalities: ['TEXT', 'IMAGE'],
      ...(Object.keys(imageConfig).length === 0 ? {} : { imageConfig }),
    },
  })
}

function inline(picture: SentImage): JsonObject {
  invariant(picture.from === 'upload', 'every picture of the family is at hand before it is sent')
  return { inlineData: { mimeType: picture.mediaType, data: new InBase64(picture.bytes) } }
}

/** Upstream's own statuses for a caller's faulty input. */
const INPUT_STATUSES = new Set(['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'OUT_OF_RANGE'])

function readError(body: unknown): UpstreamError | undefined {
  const error = readNativeError(body)
  return error?.code !== undefined && INPUT_STATUSES.has(error.code)
    ? { ...error, code: 'invalid_request' }
    : error
}

function readAnswer(
  body: JsonObject,
  call: ImageCall,
): Omit<ImageAnswer, 'upstreamRequestId' | 'restMs'> | undefined {
  const feedback = objectOf(body['promptFeedback'])
  if (!Array.isArray(body['candidates']) && feedback['blockReason'] === undefined) return undefined
  const candidates = objectsOf(body['candidates'])
  const parts = candidates
    .flatMap((candidate) => objectsOf(objectOf(candidate['content'])['parts']))
    .filter((part) => part['thought'] !== true)
  const picture = parts.map(({ inlineData }) => objectOf(inlineData)).find(isPicture)
  const said = parts.flatMap(({ text }) => textOf(text) ?? []).join('')
  const usage = genUsage(body['usageMetadata'])
  const { size } = call.body
  const base64 = textOf(picture?.['data'])
  return {
    createdS: undefined,
    items:
      base64 === undefined
        ? []
        : [
            {
              picture: { base64 },
              shown: said.trim() === '' ? {} : { revised_prompt: said.trim() },
            },
          ],
    shown: usage === undefined ? {} : { usage },
    seen: {
      usage: {
        [IMAGES]: base64 === undefined ? 0 : 1,
        ...(usage === undefined
          ? {}
          : { [INPUT]: usage.input_tokens, output: usage.output_tokens }),
      },
      output: typeof size === 'string' ? { size } : {},
    },
    failure:
      base64 === undefined
        ? failureOf(reasonOf(feedback, candidates), (usage?.input_tokens ?? 0) > 0)
        : undefined,
  }
}

function isPicture(data: JsonObject): boolean {
  const { mimeType } = data
  return typeof mimeType === 'string' && mimeType.startsWith('image/')
}

/** Reasons that concern the prompt or the picture. */
const POLICY_REASONS = new Set([
  'SAFETY',
  'IMAGE_SAFETY',
  'PROHIBITED_CONTENT',
  'IMAGE_PROHIBITED_CONTENT',
  'BLOCKLIST',
  'RECITATION',
  'IMAGE_RECITATION',
  'SPII',
  'MODEL_ARMOR',
  'JAILBREAK',
])

function reasonOf(feedback: JsonObject, candidates: readonly JsonObject[]): string {
  const reason = textOf(feedback['blockReason']) ?? textOf(candidates[0]?.['finishReason'])
  return reason !== undefined && /^[A-Z_]{1,40}$/.test(reason) ? reason : 'OTHER'
}

/** The caller pays nothing for a picture that moderation refused, whatever upstream counted. */
function failureOf(reason: string, hasInput: boolean): NonNullable<ImageAnswer['failure']> {
  return POLICY_REASONS.has(reason)
    ? {
        code: 'content_policy_violation',
        message: `The model service's content policy refused it: ${reason}`,
        isBilled: false,
      }
    : {
        code: 'no_image_generated',
        message: `No image was produced: ${reason}`,
        isBilled: hasInput,
      }
}
