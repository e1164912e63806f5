import { type JsonObject, membersGiven } from '../../../kernel/json.ts'
import { heldInputTokens, LARGEST_CONVERSATION_TOKENS } from '../rules/tokens.ts'
import { largestAnswer, withHeldBound } from '../rules/expected.ts'
import { textRules } from '../rules/rules.ts'
import { invariant } from '../../../kernel/assert.ts'
import type { Channel } from '../../../app/ports/provider.ts'
import type { TextChunk, TextRequest, TextTally } from '../ports.ts'
import type { CallFamily, StreamFamily } from '../../../app/calls/family.ts'
import type { AnswerBounds } from './kept-ids.ts'
import { namedAt, resolveKept } from './kept-references.ts'
import { wishWithPriceMembers } from './price-members.ts'
import { type TextCallInput, type TextDeps, type TextFrame, textRefusal } from './types.ts'
import { textSettings } from '../settings.ts'

/** What is sent, whatever the channel, and what its answer can be. */
interface TextAsk {
  readonly body: JsonObject
  readonly bounds: AnswerBounds
}

/** Text on the road of every call. */
export type TextCallFamily = CallFamily<TextCallInput, TextAsk, TextTally, JsonObject> &
  StreamFamily<TextCallInput, TextAsk, TextTally, TextChunk, TextFrame>

export function createTextFamily(deps: TextDeps): TextCallFamily {
  const { provider, wire } = deps
  const rules = textRules(wire)
  return {
    resolve: (input, serving) => {
      const { model } = input
      const largestOutputTokens = largestOutput(serving, model)
      const { body, wish, keptTokens, previous } = resolveKept(deps, input, largestOutputTokens)
      const { wish: channels, serviceTier } = wishWithPriceMembers(deps, input, wish)
      const heldTokens = (input.inputSize.heldTokens ?? 0) + keptTokens
      const inputSize = { ...input.inputSize, heldTokens }
      const outputTokens = largestAnswer(wire, input.body, largestOutputTokens)
      const conversationTokens = heldInputTokens(inputSize) + outputTokens
      // Priced by what the caller wrote: what upstream's ids stand for is in the size.
      const priced = {
        wire,
        model,
        body: input.body,
        inputSize,
        largestOutputTokens,
        ...(serviceTier === undefined ? {} : { serviceTier }),
      }
      return {
        request: {
          body: withHeldBound(wire, body, largestOutputTokens),
          bounds: {
            conversationTokens: Math.min(conversationTokens, LARGEST_CONVERSATION_TOKENS),
            outputTokens,
            previous,
          },
        },
        wish: channels,
        expectedTokens: () => rules.expectedTokens(priced),
        price: (book) => rules.price(priced, book),
      }
    },
    ask: async (input, channel, asked, options) => {
      const request = requestAt(deps, input, channel, asked)
      const answer = await provider.complete(channel, request, options)
      const { upstreamRequestId, restMs } = answer
      const tally = answer.tally()
      return {
        body: () => answer.body,
        upstreamRequestId,
        restMs,
        seen: tally,
        failed: tally.failure?.code,
      }
    },
    refusal: textRefusal,
    open: (input, channel, asked, options) =>
      provider.stream(channel, requestAt(deps, input, channel, asked), options),
    boundsOf: (channel) => {
      const { drainTimeoutMs, drainMaxBytes } = textSettings(channel)
      return membersGiven({ drainTimeoutMs, drainMaxBytes })
    },
    frameOf: ({ event, data, usageOnly }) => ({ event, data, usageOnly }),
  }
}

/** What one channel is asked. */
function requestAt(
  { wire, keptIds }: TextDeps,
  { principal, model }: TextCallInput,
  channel: Channel,
  { body, bounds }: TextAsk,
): TextRequest {
  const at = { tenantId: principal.tenantId, channelId: channel.id }
  return {
    model,
    upstreamModel: channel.models[model] ?? model,
    body: wire.keepsAnswers === true ? namedAt(keptIds, at, body) : body,
    keptId: keptIds.namer(principal.tenantId, channel.id, bounds),
  }
}

function largestOutput(channels: readonly Channel[], model: string): number {
  const known = channels.map((channel) => textSettings(channel).largestOutputTokens?.[model])
  // The channel file is refused without it.
  invariant(!known.includes(undefined) && known.length > 0, `${model} has no largest output`)
  return Math.max(...known.map((tokens) => tokens ?? 0))
}
