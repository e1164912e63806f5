import { type JsonObject, membersGiven } from '../../../kernel/json.ts'
import { heldInputTokens, LARGEST_CONVERSATION_TOKENS } from '../rules/tokens.ts'
import { largestAnswer, withHeldBound } from '../rules/expected.ts'
import { textRules } from '../rules/rules.ts'
import { invariant } from '../../../kernel/assert.ts'
import type { Channel } from '../../../app/ports/provider.ts'
import type { TextChunk, TextRequest, TextTally } from '../ports.ts'
import type { CallFamily, StreamFamily, Unmade } from '../../../app/calls/family.ts'
import type { AnswerBounds } from './kept-ids.ts'
import { namedAt, resolveKept } from './kept-references.ts'
import { type TextCallInput, type TextDeps, type TextFrame, textRefusal } from './types.ts'
import { textSettings } from '../settings.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import {
  isServiceTier,
  type PriceMember,
  priceMembersOf,
  serviceTierOf,
} from '../rules/price-members.ts'
import type { ChannelWish } from '../../../app/channels/directory.ts'

/** A query for channels that accept the members that change the price of a call, and its tier. */
interface PricedWish {
  readonly wish: ChannelWish
  readonly serviceTier: string | undefined
}

/**
 * Binds a call to channels that take its members that change price or model.
 * @throws DomainError `invalid_request`, naming the first that none of them takes
 */
function wishWithPriceMembers(
  { wire, channels }: TextDeps,
  { family, model, body }: Unmade<TextCallInput>,
  wish: ChannelWish,
): PricedWish {
  const members = priceMembersOf(wire, body)
  if (members.length === 0) return { wish, serviceTier: undefined }
  // Which of two members an account would follow is unknown: such a call asks for a tier that no
  // channel offers.
  const serviceTier = members.filter(isServiceTier).length > 1 ? '' : serviceTierOf(body)
  const wishFor = (asked: readonly PriceMember[]): ChannelWish => {
    const names = asked.filter((member) => !isServiceTier(member)).map(({ name }) => name)
    const tier = asked.some(isServiceTier) ? (serviceTier ?? '') : undefined
    return {
      ...wish,
      suits: (channel) => {
        const { passes = [], serviceTiers = [] } = textSettings(channel)
        return (
          wish.suits?.(channel) !== false &&
          names.every((name) => passes.includes(name)) &&
          (tier === undefined || serviceTiers.includes(tier))
        )
      },
    }
  }
  const whole = wishFor(members)
  if (channels.serving(whole).length > 0) return { wish: whole, serviceTier }
  const refused = members.find((one) => channels.serving(wishFor([one])).length === 0) ?? members[0]
  if (refused === undefined) return { wish: whole, serviceTier }
  const { path } = refused
  if (!isServiceTier(refused))
    return refuse(
      path,
      `\`${path}\` is not taken here: it changes what a call costs or which model answers`,
    )
  const tiers = channels
    .serving({ family, model })
    .flatMap((channel) => textSettings(channel).serviceTiers ?? [])
  return refuse(path, `\`${path}\` must be one of ${['default', ...new Set(tiers)].join(', ')}`)
}

/** What is sent, whatever the channel, and what its answer can be. */
interface TextAsk {
  readonly body: JsonObject
  readonly bounds: AnswerBounds
}

/** Text as a call. */
export type TextCallFamily = CallFamily<TextCallInput, TextAsk, TextTally, JsonObject | string> &
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
      // Priced by what the caller wrote: the size includes the content behind upstream's ids.
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
  // The channel file check requires it.
  invariant(!known.includes(undefined) && known.length > 0, `${model} has no largest output`)
  return Math.max(...known.map((tokens) => tokens ?? 0))
}
