import { type JsonObject, membersGiven } from '../../../kernel/json.ts'
import { heldInputTokens, LARGEST_CONVERSATION_TOKENS } from '../rules/tokens.ts'
import { answersOf, largestAnswer, withHeldBound } from '../rules/expected.ts'
import { checkAnswerFits, type LargestAnswer, largestOf } from '../rules/answer-size.ts'
import { textRules } from '../rules/rules.ts'
import { invariant } from '../../../kernel/assert.ts'
import type { Channel } from '../../../app/ports/provider.ts'
import type { TextChunk, TextRequest, TextTally } from '../ports.ts'
import type { CallFamily, StreamFamily, PricingInput } from '../../../app/calls/family.ts'
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
import type { ChannelQuery } from '../../../app/channels/directory.ts'

/** A query for channels that accept the members that change the price of a call, and its tier. */
interface TierQuery {
  readonly channelQuery: ChannelQuery
  readonly serviceTier: string | undefined
}

/**
 * Binds a call to channels that take its members that change price or model, and answer with as many
 * alternatives.
 * @throws DomainError `invalid_request`, naming the first that none of them takes
 */
function queryWithPriceMembers(
  { wire, channels }: TextDeps,
  { family, model, body }: PricingInput<TextCallInput>,
  keptQuery: ChannelQuery,
): TierQuery {
  const channelQuery = queryWithAnswers({ wire, channels }, body, keptQuery)
  const members = priceMembersOf(wire, body)
  if (members.length === 0) return { channelQuery, serviceTier: undefined }
  // If both members are given, it is unknown which one an account would follow: such a call asks
  // for a tier that no channel offers.
  const serviceTier =
    members.filter(isServiceTier).length > 1 ? '' : serviceTierOf(body, wire.tierMembers)
  const queryFor = (asked: readonly PriceMember[]): ChannelQuery => {
    const names = asked.filter((member) => !isServiceTier(member)).map(({ name }) => name)
    const tier = asked.some(isServiceTier) ? (serviceTier ?? '') : undefined
    return {
      ...channelQuery,
      suits: (channel) => {
        const { passes = [], serviceTiers = [] } = textSettings(channel)
        return (
          channelQuery.suits?.(channel) !== false &&
          names.every((name) => passes.includes(name)) &&
          (tier === undefined || serviceTiers.includes(tier))
        )
      },
    }
  }
  const whole = queryFor(members)
  if (channels.serving(whole).length > 0) return { channelQuery: whole, serviceTier }
  const refused =
    members.find((one) => channels.serving(queryFor([one])).length === 0) ?? members[0]
  if (refused === undefined) return { channelQuery: whole, serviceTier }
  const { path } = refused
  if (!isServiceTier(refused))
    return refuse(
      path,
      `\`${path}\` is not accepted here: it changes what a call costs or which model answers; switch it off in your client, or leave it out`,
    )
  const tiers = channels
    .serving({ family, model })
    .flatMap((channel) => textSettings(channel).serviceTiers ?? [])
  return refuse(path, `\`${path}\` must be one of ${['default', ...new Set(tiers)].join(', ')}`)
}

/**
 * Binds a call for several alternatives to channels that answer with as many.
 * @throws DomainError `invalid_request` where there is none
 */
function queryWithAnswers(
  { wire, channels }: Pick<TextDeps, 'wire' | 'channels'>,
  body: JsonObject,
  channelQuery: ChannelQuery,
): ChannelQuery {
  const asked = answersOf(wire, body)
  if (asked === 1) return channelQuery
  const largestOf = (channel: Channel) => textSettings(channel).largestN ?? asked
  const suiting: ChannelQuery = {
    ...channelQuery,
    suits: (channel) => channelQuery.suits?.(channel) !== false && largestOf(channel) >= asked,
  }
  if (channels.serving(suiting).length > 0) return suiting
  const counts = channels.serving(channelQuery).map(largestOf)
  if (counts.length === 0) return suiting
  const { holder, answers = '' } = wire.output
  const path = holder === undefined ? answers : `${holder}.${answers}`
  return refuse(path, `\`${path}\` must be at most ${Math.max(...counts)} for this model`)
}

/** The request, whatever the channel, and the bounds of its answer. */
interface TextAsk {
  readonly body: JsonObject
  readonly largest: LargestAnswer
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
      const kept = resolveKept(deps, input, largestOutputTokens)
      const { channelQuery, serviceTier } = queryWithPriceMembers(deps, input, kept.channelQuery)
      const heldTokens = (input.inputSize.heldTokens ?? 0) + kept.keptTokens
      const inputSize = { ...input.inputSize, heldTokens }
      const outputTokens = largestAnswer(wire, input.body, largestOutputTokens)
      const conversationTokens = heldInputTokens(inputSize) + outputTokens
      // Priced by the caller's request: the size includes the content behind upstream's ids.
      const priced = {
        wire,
        model,
        body: input.body,
        inputSize,
        largestOutputTokens,
        ...membersGiven({ serviceTier, longPromptTokens: longPromptTokens(serving, model) }),
      }
      return {
        request: {
          body: kept.body,
          largest: largestOf(wire, input.body, largestOutputTokens),
          bounds: {
            conversationTokens: Math.min(conversationTokens, LARGEST_CONVERSATION_TOKENS),
            outputTokens,
            previous: kept.previous,
          },
        },
        channelQuery,
        expectedTokens: () => rules.expectedTokens(priced),
        price: (book) => rules.price(priced, book),
      }
    },
    ask: async (input, channel, asked, options) => {
      checkAnswerFits(wire, asked.largest)
      const request = callAt(deps, input, channel, { ...asked, ...options })
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
      provider.stream(channel, callAt(deps, input, channel, { ...asked, ...options }), options),
    boundsOf: (channel) => {
      const { drainTimeoutMs, drainMaxBytes } = textSettings(channel)
      return membersGiven({ drainTimeoutMs, drainMaxBytes })
    },
    frameOf: ({ event, data, usageOnly }) => ({ event, data, usageOnly }),
  }
}

/** A call at one channel, with a bound of its output that its hold covers. */
function callAt(
  deps: TextDeps,
  input: TextCallInput,
  channel: Channel,
  asked: Parameters<typeof requestAt>[3],
): TextRequest {
  const held = {
    largest: largestOutput([channel], input.model),
    known: textSettings(channel).outputBound,
  }
  const body = withHeldBound(deps.wire, asked.body, held)
  return requestAt(deps, input, channel, { ...asked, body })
}

/** A request to one channel, in the names of that channel. */
export function requestAt(
  { wire, keptIds }: Pick<TextDeps, 'wire' | 'keptIds'>,
  { principal, model, headers, written }: PricingInput<TextCallInput>,
  channel: Channel,
  { body, largest, bounds, callId }: TextAsk & Pick<TextRequest, 'callId'>,
): TextRequest {
  const at = { tenantId: principal.tenantId, channelId: channel.id }
  return {
    model,
    headers,
    written,
    settings: channel.settings,
    upstreamModel: channel.models[model] ?? model,
    callId,
    body: wire.keepsAnswers === true ? namedAt(keptIds, at, body) : body,
    largest,
    keptId: keptIds.namer(principal.tenantId, channel.id, { ...bounds, callId }),
  }
}

/** The lowest limit of any channel: which of them answers is not known yet. */
function longPromptTokens(channels: readonly Channel[], model: string): number | undefined {
  const limits = channels.flatMap(
    (channel) => textSettings(channel).longPromptTokens?.[model] ?? [],
  )
  return limits.length === 0 ? undefined : Math.min(...limits)
}

function largestOutput(channels: readonly Channel[], model: string): number {
  const known = channels.map((channel) => textSettings(channel).largestOutputTokens?.[model])
  // The channel file check requires it.
  invariant(!known.includes(undefined) && known.length > 0, `${model} has no largest output`)
  return Math.max(...known.map((tokens) => tokens ?? 0))
}
