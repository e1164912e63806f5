import { answerCall, NO_TOKENS, addCall, type Asker } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import { Refusal, type Wire } from '../http/wire.ts'
import { type Fields, isFields, NO_FIELDS, objectsIn, textIn } from '../kit/body.ts'
import { IdMaker } from '../kit/clock.ts'
import { pictureOf, sidesOf } from '../media/pictures.ts'
import { lastUserText } from '../native/parse.ts'
import { JSON_HEADERS, keyedWire, messageOf, targetOf } from '../native/wire.ts'
import { MEDIUM_TOKENS, tokensOf } from '../text/order.ts'

/** A request for a picture as this upstream understands it. */
type GenAsk = Readonly<Awaited<ReturnType<typeof parseGen>>>

interface GenPainter {
  readonly name: string
  /** Output tokens of a picture by size. */
  readonly tokensBySize: Readonly<Record<string, number>>
  /** Takes no size. */
  readonly hasOneSize: boolean
  readonly ratios: readonly string[]
  readonly thoughtTokens: number
}

const EDGES: Readonly<Record<string, number>> = { '512': 512, '1K': 1024, '2K': 2048, '4K': 4096 }
const RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9']
const PAINTERS: readonly GenPainter[] = [
  {
    name: 'painter-2.5-flash-image',
    tokensBySize: { '1K': 1290 },
    hasOneSize: true,
    ratios: RATIOS,
    thoughtTokens: 0,
  },
  {
    name: 'painter-3-pro-image-preview',
    tokensBySize: { '1K': 1120, '2K': 1120, '4K': 2000 },
    hasOneSize: false,
    ratios: RATIOS,
    thoughtTokens: 180,
  },
  {
    name: 'painter-3.1-flash-image-preview',
    tokensBySize: { '1K': 1120, '512': 747, '2K': 1680, '4K': 2520 },
    hasOneSize: false,
    ratios: [...RATIOS, '1:4', '4:1', '1:8', '8:1', '9:21'],
    thoughtTokens: 0,
  },
]
const MEMBERS = ['contents', 'generationConfig', 'safetySettings', 'systemInstruction', 'tools']
const CONFIG_MEMBERS = 'responseModalities imageConfig temperature topP candidateCount'.split(' ')
const STEP = 16

function invalid(message: string): Refusal {
  return new Refusal('INVALID_ARGUMENT', message)
}

function onlyMembers(fields: Fields, known: readonly string[], where: string): void {
  const foreign = Object.keys(fields).find((name) => !known.includes(name))
  if (foreign !== undefined)
    throw invalid(
      `Invalid JSON payload received. Unknown name "${foreign}" at '${where}': Cannot find field.`,
    )
}

/** @throws Refusal */
async function parseGen(body: Fields | null, name: string) {
  const model = PAINTERS.find((one) => one.name === name)
  if (model === undefined)
    throw new Refusal('NOT_FOUND', `models/${name.slice(0, 100)} is not found for v1beta.`)
  if (body === null) throw invalid('Invalid JSON payload received. Unexpected end of string.')
  onlyMembers(body, MEMBERS, 'request')
  const parts = objectsIn(body['contents']).flatMap(({ parts: ofContent }) => objectsIn(ofContent))
  if (parts.length === 0)
    throw invalid('* GenerateContentRequest.contents: contents is not specified')
  const config = isFields(body['generationConfig']) ? body['generationConfig'] : NO_FIELDS
  onlyMembers(config, CONFIG_MEMBERS, 'generation_config')
  const modalities: unknown = config['responseModalities']
  if (!Array.isArray(modalities) || !modalities.includes('IMAGE'))
    throw invalid('The model makes images: IMAGE must be among the response modalities.')
  const imageConfig = isFields(config['imageConfig']) ? config['imageConfig'] : NO_FIELDS
  onlyMembers(imageConfig, ['aspectRatio', 'imageSize'], 'generation_config.image_config')
  const pictures = await Promise.all(
    parts.flatMap(({ inlineData }) => inlineData ?? []).map(sidesIn),
  )
  const size = sizeAsked(model, imageConfig['imageSize'])
  const [base] = pictures
  const text = parts.map((part) => textIn(part, 'text') ?? '').join('\n')
  return {
    model,
    size,
    ...sidesOfRatio(size, ratioAsked(model, imageConfig['aspectRatio'], base)),
    textTokens: tokensOf(text),
    imageTokens: pictures.length * MEDIUM_TOKENS.IMAGE,
  }
}

type Sides = NonNullable<Awaited<ReturnType<typeof sidesOf>>>

async function sidesIn(inline: unknown): Promise<Sides> {
  const data = isFields(inline) ? (textIn(inline, 'data') ?? '') : ''
  const type = isFields(inline) ? textIn(inline, 'mimeType') : null
  const bytes = Buffer.from(data, 'base64')
  const sides = await sidesOf(bytes)
  if (
    sides === null ||
    bytes.toString('base64') !== data ||
    !/^image\/(png|jpeg|webp)$/.test(type ?? '')
  )
    throw invalid('Unable to process input image. Please retry or report in https://example.com.')
  return sides
}

function sizeAsked({ tokensBySize, hasOneSize }: GenPainter, size: unknown): string {
  const sizes = Object.keys(tokensBySize)
  if (size === undefined) return '1K'
  if (hasOneSize) throw invalid('Image size is not supported by this model.')
  if (typeof size !== 'string' || !sizes.includes(size))
    throw invalid(`Invalid image size ${JSON.stringify(size)}.`)
  return size
}

function ratioAsked({ ratios }: GenPainter, ratio: unknown, base: Sides | undefined): number {
  if (ratio === undefined) return base === undefined ? 1 : base.width / base.height
  if (typeof ratio !== 'string' || !ratios.includes(ratio))
    throw invalid(`Invalid aspect ratio ${JSON.stringify(ratio)}.`)
  const [width = 1, height = 1] = ratio.split(':').map(Number)
  return width / height
}

function sidesOfRatio(
  size: string,
  ratio: number,
): { readonly width: number; readonly height: number } {
  const edge = EDGES[size] ?? 0
  const step = (length: number) => Math.max(STEP, Math.round(length / STEP) * STEP)
  return { width: step(edge * Math.sqrt(ratio)), height: step(edge / Math.sqrt(ratio)) }
}

const FAMILY = 'gen'

interface ImageResult {
  /** Why there is no picture; null: there is one. */
  readonly reason: string | null
  /** Text with the picture, or instead of it. */
  readonly words: string
}

function imageResultOf(faults: Faults): ImageResult {
  const reason = isOn(faults, 'blocked') ? 'BLOCKED' : wordOf(faults, 'no-image')
  const count = countOf(faults, 'words') ?? (reason === 'STOP' ? 4 : 0)
  return { reason, words: Array.from({ length: count }, (_, n) => `word${n}`).join(' ') }
}

/** Usage in this wire's names, members that are zero left out. */
function usageOf(order: GenAsk, { reason, words }: ImageResult, faults: Faults) {
  const zero = isOn(faults, 'zero-usage')
  const text = zero ? 0 : order.textTokens
  const image = zero ? 0 : order.imageTokens
  const made = reason === null ? (order.model.tokensBySize[order.size] ?? 0) : 0
  const picture = zero ? 0 : (countOf(faults, 'tokens') ?? made)
  const textTokens = zero ? 0 : tokensOf(words)
  const thoughts = zero || reason === 'BLOCKED' ? 0 : order.model.thoughtTokens
  const positiveCounts = (counts: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
  const details = (counts: Readonly<Record<string, number>>) =>
    Object.entries(positiveCounts(counts)).map(([modality, tokenCount]) => ({
      modality,
      tokenCount,
    }))
  return {
    input: text + image,
    output: picture + textTokens + thoughts,
    wire: {
      ...positiveCounts({
        promptTokenCount: text + image,
        candidatesTokenCount: picture + textTokens,
        thoughtsTokenCount: thoughts,
        totalTokenCount: text + image + picture + textTokens + thoughts,
      }),
      ...(text + image > 0 ? { promptTokensDetails: details({ TEXT: text, IMAGE: image }) } : {}),
      ...(picture + textTokens > 0
        ? { candidatesTokensDetails: details({ TEXT: textTokens, IMAGE: picture }) }
        : {}),
    },
  }
}

async function candidateOf(order: GenAsk, { reason, words }: ImageResult, faults: Faults) {
  const inline = async (width: number, height: number, black: boolean) => ({
    inlineData: {
      mimeType: 'image/png',
      data: (await pictureOf(width, height, 'png', black)).toString('base64'),
    },
  })
  const thoughts = isOn(faults, 'thoughts')
    ? [
        { text: 'a draft first', thought: true },
        { ...(await inline(64, 64, false)), thought: true },
      ]
    : []
  const textParts = words === '' ? [] : [{ text: words }]
  const picture =
    reason === null ? [await inline(order.width, order.height, isOn(faults, 'black'))] : []
  const parts = [...thoughts, ...textParts, ...picture]
  return {
    ...(parts.length === 0 ? {} : { content: { role: 'model', parts } }),
    finishReason: reason ?? 'STOP',
    index: 0,
  }
}

/** Makes a picture. */
function generate(
  { kit, wire, ids }: { readonly kit: FamilyKit; readonly wire: Wire; readonly ids: IdMaker },
  order: GenAsk,
  asker: Asker,
  faults: Faults,
) {
  const outcome = imageResultOf(faults)
  const usage = usageOf(order, outcome, faults)
  const responseId = ids.next('')
  const isMade = wordOf(faults, 'fail') === null && outcome.reason === null
  const accepted = {
    id: responseId,
    model: order.model.name,
    stream: false,
    breaksBy: null,
    usage: { ...NO_TOKENS, input_tokens: usage.input, output_tokens: usage.output },
    wireUsage: usage.wire,
    pictures: { count: isMade ? 1 : 0, size: order.size },
  }
  return answerCall(kit, wire, { asker, faults }, accepted, async () => {
    const hasUsage = !isOn(faults, 'no-usage')
    const result =
      outcome.reason === 'BLOCKED'
        ? { promptFeedback: { blockReason: 'SAFETY' } }
        : { candidates: [await candidateOf(order, outcome, faults)] }
    const body = {
      ...result,
      ...(hasUsage ? { usageMetadata: usage.wire } : {}),
      modelVersion: order.model.name,
      responseId,
    }
    return { headers: JSON_HEADERS, usage: hasUsage, body }
  })
}

/** Native generation by models that make pictures. */
export const gen: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const ids = new IdMaker(kit.random)
    const wire = keyedWire(FAMILY, kit)
    addCall(app, kit, wire, '/gen/v1beta/models/:target', (body, request) => {
      const { model, method } = targetOf(request)
      return {
        op: 'create',
        model,
        userText: lastUserText(body),
        perform: async (asker, faults) => {
          if (method !== 'generateContent') throw new Refusal('NOT_FOUND', messageOf('NOT_FOUND'))
          return generate({ kit, wire, ids }, await parseGen(body, model), asker, faults)
        },
      }
    })
  },
}
