import { Type } from 'typebox'
import type { SandboxFamily } from '../../../infra/sandbox/family.ts'
import { callFailureHeaders, readCallFailure } from '../../../src/api/kit/failures/call-failures.ts'
import { answerWhole, callSurface } from '../../../src/api/kit/routes/calls.ts'
import type { Envelope } from '../../../src/api/kit/envelope.ts'
import type { Mount } from '../../../src/api/kit/routes/surface.ts'
import type { CallFamily, CallInput } from '../../../src/app/calls/family.ts'
import { ProviderError } from '../../../src/app/ports/provider.ts'
import { refusalOf } from '../../../src/app/channels/refusal.ts'
import type { CallFamilyRules } from '../../../src/domain/catalog/call-rules.ts'
import { refuse } from '../../../src/domain/catalog/checks/fields.ts'
import { settlement, settlementLine } from '../../../src/domain/pricing/settlement.ts'
import { rate } from '../../../src/domain/pricing/price-book.ts'
import type { FamilyModule } from '../../../src/families/module.ts'
import { isJsonObject, type JsonObject } from '../../../src/kernel/json.ts'
import { parseAmount } from '../../../src/kernel/money.ts'

/** What the two families of the test have in common: their error shape, and a text that must be given. */

/** `{oops: {word, says, member}}` */
export const oops: Envelope = (error) => {
  const failure = readCallFailure(error)
  const { status, code, message, param } = failure
  const headers = callFailureHeaders(failure)
  return { status, headers, body: { oops: { word: code, says: message, member: param } } }
}

/** @throws DomainError naming the member */
export function textOf(body: JsonObject, name: string): string {
  const value = body[name]
  return typeof value === 'string' && value !== ''
    ? value
    : refuse(name, `\`${name}\` is required, as text`)
}

/** A family of calls that is in no list: an echo, paid by the word. */

const family = 'echo'
const MODEL = 'echo-1'
const SKU = 'echo-1-word'
const SURFACE = 'echo.say'

interface Words {
  readonly words: number
}
interface Input extends CallInput {
  readonly text: string
}

const rules: CallFamilyRules<Words, Words> = {
  name: family,
  models: [MODEL],
  isModelName: (name) => name === MODEL,
  prices: () => [{ sku: SKU, currency: 'USD', unit: 'word' }],
  expectedTokens: () => 0,
  price: ({ words }, book) => {
    const rated = rate(book, SKU, 'USD', 'echo/word')
    const frozen = { priceBookVersion: book.version, currency: 'USD' } as const
    const ratedCall = (count: number) => ({
      usage: { word: count },
      measurement: 'reported' as const,
      settlement: settlement(frozen, [settlementLine(rated, count, 'reported')]),
      limitedTokens: 0,
    })
    return {
      ...frozen,
      candidates: [rated],
      holdPico: parseAmount(ratedCall(words).settlement.amount),
      settle: (seen) => ratedCall(seen.words),
      estimate: (seen) => ratedCall(seen?.words ?? words),
    }
  },
}

const wordsOf = (text: string): number => text.split(' ').length

const calls: CallFamily<Input, Words, Words, JsonObject> = {
  resolve: ({ text, model }) => {
    const request = { words: wordsOf(text) }
    return {
      request,
      channelQuery: { family, model },
      expectedTokens: () => 0,
      price: (book) => rules.price(request, book),
    }
  },
  ask: async ({ text }, channel, _request, { signal }) => {
    const answer = await fetch(`${channel.baseUrl}/say`, {
      method: 'POST',
      body: JSON.stringify({ text, model: channel.models[MODEL] }),
      headers: { 'content-type': 'application/json' },
      signal,
    })
    const body: unknown = await answer.json()
    if (!answer.ok || !isJsonObject(body))
      throw new ProviderError('malformed', 'unknown', 'There is no echo.')
    return {
      body: () => body,
      seen: { words: Number(body['words']) },
      upstreamRequestId: undefined,
      restMs: undefined,
      failed: undefined,
    }
  },
  refusal: (error, callId) => refusalOf(error, callId),
}

const echo: Mount = {
  prefix: '/echo',
  envelopeOf: () => oops,
  bodyBytes: 10_000,
  keepsAnswers: true,
}
const Body = Type.Object(
  { model: Type.String(), text: Type.String() },
  { additionalProperties: true },
)

const surface = callSurface(echo, {
  path: '/say',
  name: SURFACE,
  body: Body,
  documented: { operationId: 'echo', tags: ['Echo'], summary: 'Say it again' },
  accept: (body, asked) => ({
    input: { ...asked.by, family, model: textOf(body, 'model'), text: textOf(body, 'text') },
  }),
  open: ({ calls: runner }) => ({
    family: calls,
    answer: ({ input }, _request, reply) => answerWhole(runner, calls, input, reply),
  }),
})

export const echoFamily: FamilyModule = {
  rules: { name: family, calls: rules, endpoints: () => ['/echo/say'] },
  sandbox: [
    {
      id: 'sandbox-echo',
      family,
      region: 'overseas',
      path: '/echo',
      models: { [MODEL]: 'hall-1' },
    },
  ],
  mounts: [echo],
  open: () => ({ surfaces: [surface], close: () => Promise.resolve() }),
}

/** Answers with what it was sent, by its own name of the model. */
export const echoSandbox: SandboxFamily = {
  name: family,
  register: (app) => {
    app.post('/echo/say', (request, reply) => {
      const sent: unknown = JSON.parse(String(request.body))
      if (!isJsonObject(sent) || sent['model'] !== 'hall-1') return reply.code(400).send({})
      const said = String(sent['text'])
      return reply.send({ said, words: wordsOf(said) })
    })
  },
}
