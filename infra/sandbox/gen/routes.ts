import { acceptPictures } from '../calls/accept.ts'
import { runText } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { jsonBody } from '../kit/body.ts'
import { IdMaker } from '../kit/random.ts'
import { pictureOf } from '../media/pictures.ts'
import { nativeErrorAnswer, NativeRefusal } from '../native/errors.ts'
import { lastUserText } from '../native/parse.ts'
import { keyedWire, targetOf } from '../native/wire.ts'
import { tokensOf } from '../text/ask.ts'
import type { Asker } from '../text/service.ts'
import { type GenAsk, parseGen } from './parse.ts'

const FAMILY = 'gen'
const HEADERS = { 'content-type': 'application/json; charset=UTF-8' }

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
async function generate(
  kit: FamilyKit,
  ids: IdMaker,
  ask: GenAsk,
  asker: Asker,
  faults: Faults,
): Promise<Answer> {
  const outcome = outcomeOf(faults)
  const usage = usageOf(ask, outcome, faults)
  const fail = wordOf(faults, 'fail')
  const responseId = ids.next('')
  const isMade = fail === null && outcome.reason === null
  const call = acceptPictures(kit, asker, {
    family: FAMILY,
    id: responseId,
    model: ask.model.name,
    stream: false,
    failCode: fail,
    inputTokens: usage.input,
    outputTokens: usage.output,
    wireUsage: usage.wire,
    pictures: { count: isMade ? 1 : 0, size: ask.size },
  })
  if (fail !== null) return { ...nativeErrorAnswer(fail, faults), call }
  const tellsUsage = !isOn(faults, 'no-usage')
  const result =
    outcome.reason === 'BLOCKED'
      ? { promptFeedback: { blockReason: 'SAFETY' } }
      : { candidates: [await candidateOf(ask, outcome, faults)] }
  return {
    status: 200,
    headers: HEADERS,
    call,
    usage: tellsUsage,
    body: {
      ...result,
      ...(tellsUsage ? { usageMetadata: usage.wire } : {}),
      modelVersion: ask.model.name,
      responseId,
    },
  }
}

/** Native generation by models that make pictures. */
export const gen: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const ids = new IdMaker(kit.random)
    const wire = keyedWire(FAMILY, kit)
    app.post('/gen/v1beta/models/:target', (request, reply) => {
      const body = jsonBody(request.body)
      const target = targetOf(request)
      return runText(
        kit,
        wire,
        {
          op: 'create',
          model: target.model,
          body,
          userText: lastUserText(body),
          perform: async (asker, faults) => {
            if (target.method !== 'generateContent')
              throw new NativeRefusal('NOT_FOUND', 'Requested entity was not found.')
            return generate(kit, ids, await parseGen(body, target.model), asker, faults)
          },
        },
        request,
        reply,
      )
    })
  },
}
