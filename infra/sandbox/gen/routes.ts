import { answerCall, NO_TOKENS } from '../calls/answer.ts'
import { addCall, type Asker } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { countOf, isOn, wordOf, type Faults } from '../faults/vocabulary.ts'
import { Refusal, type Wire } from '../http/wire.ts'
import { IdMaker } from '../kit/random.ts'
import { pictureOf } from '../media/pictures.ts'
import { lastUserText } from '../native/parse.ts'
import { JSON_HEADERS, keyedWire, messageOf, targetOf } from '../native/wire.ts'
import { tokensOf } from '../text/ask.ts'
import { parseGen, type GenAsk } from './parse.ts'

const FAMILY = 'gen'

interface Outcome {
  /** Why there is no picture; null: there is one. */
  readonly reason: string | null
  /** Said beside the picture, or instead of it. */
  readonly words: string
}

function outcomeOf(faults: Faults): Outcome {
  const reason = isOn(faults, 'blocked') ? 'BLOCKED' : wordOf(faults, 'no-image')
  const count = countOf(faults, 'words') ?? (reason === 'STOP' ? 4 : 0)
  return { reason, words: Array.from({ length: count }, (_, n) => `word${n}`).join(' ') }
}

/** Usage in this wire's names, members that are zero left out. */
function usageOf(ask: GenAsk, { reason, words }: Outcome, faults: Faults) {
  const zero = isOn(faults, 'zero-usage')
  const text = zero ? 0 : ask.textTokens
  const image = zero ? 0 : ask.imageTokens
  const made = reason === null ? (ask.model.tokensBySize[ask.size] ?? 0) : 0
  const picture = zero ? 0 : (countOf(faults, 'tokens') ?? made)
  const said = zero ? 0 : tokensOf(words)
  const thoughts = zero || reason === 'BLOCKED' ? 0 : ask.model.thoughtTokens
  const told = (counts: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
  const details = (counts: Readonly<Record<string, number>>) =>
    Object.entries(told(counts)).map(([modality, tokenCount]) => ({ modality, tokenCount }))
  return {
    input: text + image,
    output: picture + said + thoughts,
    wire: {
      ...told({
        promptTokenCount: text + image,
        candidatesTokenCount: picture + said,
        thoughtsTokenCount: thoughts,
        totalTokenCount: text + image + picture + said + thoughts,
      }),
      ...(text + image > 0 ? { promptTokensDetails: details({ TEXT: text, IMAGE: image }) } : {}),
      ...(picture + said > 0
        ? { candidatesTokensDetails: details({ TEXT: said, IMAGE: picture }) }
        : {}),
    },
  }
}

async function candidateOf(ask: GenAsk, { reason, words }: Outcome, faults: Faults) {
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
  const said = words === '' ? [] : [{ text: words }]
  const picture =
    reason === null ? [await inline(ask.width, ask.height, isOn(faults, 'black'))] : []
  const parts = [...thoughts, ...said, ...picture]
  return {
    ...(parts.length === 0 ? {} : { content: { role: 'model', parts } }),
    finishReason: reason ?? 'STOP',
    index: 0,
  }
}

/** Makes a picture. */
function generate(
  { kit, wire, ids }: { readonly kit: FamilyKit; readonly wire: Wire; readonly ids: IdMaker },
  ask: GenAsk,
  asker: Asker,
  faults: Faults,
) {
  const outcome = outcomeOf(faults)
  const usage = usageOf(ask, outcome, faults)
  const responseId = ids.next('')
  const isMade = wordOf(faults, 'fail') === null && outcome.reason === null
  const accepted = {
    id: responseId,
    model: ask.model.name,
    stream: false,
    breaksBy: null,
    usage: { ...NO_TOKENS, input_tokens: usage.input, output_tokens: usage.output },
    wireUsage: usage.wire,
    pictures: { count: isMade ? 1 : 0, size: ask.size },
  }
  return answerCall(kit, wire, { asker, faults }, accepted, async () => {
    const tellsUsage = !isOn(faults, 'no-usage')
    const result =
      outcome.reason === 'BLOCKED'
        ? { promptFeedback: { blockReason: 'SAFETY' } }
        : { candidates: [await candidateOf(ask, outcome, faults)] }
    const body = {
      ...result,
      ...(tellsUsage ? { usageMetadata: usage.wire } : {}),
      modelVersion: ask.model.name,
      responseId,
    }
    return { headers: JSON_HEADERS, usage: tellsUsage, body }
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
