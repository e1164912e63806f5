import type { Principal } from '../../../app/access/principal.ts'
import type { ChannelDirectory } from '../../../app/channels/directory.ts'
import { refusalOf } from '../../../app/channels/refusal.ts'
import { type CallOptions, type Channel, ProviderError } from '../../../app/ports/provider.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { KeptIds, UpstreamObject } from '../../text/calls/kept-ids.ts'
import { largestAnswer } from '../../text/rules/expected.ts'
import { LARGEST_CONVERSATION_TOKENS } from '../../text/rules/tokens.ts'
import { textSettings } from '../../text/settings.ts'
import type { CallerNames, KeptResponseProvider } from '../ports.ts'
import { responsesRules } from '../rules/wire.ts'

/** Responses that upstream keeps, as their tenant reads and deletes them. Both are free. */

/** Dependencies of reading and deleting responses. */
export interface KeptResponseDeps {
  readonly channels: Pick<ChannelDirectory, 'byId' | 'serving'>
  readonly keptIds: KeptIds
  readonly provider: KeptResponseProvider
}

/** A response by the caller's id. */
interface AskedResponse extends CallOptions {
  readonly principal: Principal
  readonly id: string
}

/**
 * Reads a response. One of another tenant, or of a model that the token may not use, is refused as a
 * missing one (P8).
 *
 * @throws DomainError `response_not_found`, `kept_unavailable`, and those of `refusalOf`
 */
export async function getResponse(
  deps: KeptResponseDeps,
  asked: AskedResponse,
): Promise<JsonObject> {
  const { kept, channel } = placeOf(deps, asked)
  const { models } = asked.principal
  let model: string | undefined
  const namesOf = (response: JsonObject): CallerNames => {
    model = externalModel(channel, response['model'])
    return { model: model ?? '', keptId: namerOf(deps, asked, kept, { response, model }) }
  }
  const found = await deps.provider
    .get(channel, kept.upstreamId, namesOf, asked)
    .catch(rethrowRefusal)
  if (found === undefined) throw notFound()
  if (models !== undefined && (model === undefined || !models.has(model))) throw notFound()
  if (model !== undefined) return found
  const { model: _unknown, ...rest } = found
  return rest
}

/**
 * Deletes a response at its account. A second deletion, and one whose first answer was lost, finds
 * none.
 *
 * @throws as `getResponse`
 */
export async function deleteResponse(deps: KeptResponseDeps, asked: AskedResponse): Promise<void> {
  const { kept, channel } = placeOf(deps, asked)
  // Only the response says which model it is of.
  if (asked.principal.models !== undefined) await getResponse(deps, asked)
  const had = await deps.provider.delete(channel, kept.upstreamId, asked).catch(rethrowRefusal)
  if (!had) throw notFound()
}

function notFound(): DomainError {
  return new DomainError('response_not_found', 'The response was not found.', {})
}

function placeOf(
  { channels, keptIds }: KeptResponseDeps,
  { principal, id }: AskedResponse,
): { readonly kept: UpstreamObject; readonly channel: Channel } {
  const kept = keptIds.open(principal.tenantId, 'response', id)
  if (kept === undefined) throw notFound()
  const channel = channels.byId(kept.channelId)
  if (channel?.family !== responsesRules.name)
    throw new DomainError('kept_unavailable', `the channel ${kept.channelId} is gone`, {})
  return { kept, channel }
}

/** Nothing is billed, so a request without an answer may be sent again. */
function rethrowRefusal(error: unknown): never {
  if (!(error instanceof ProviderError)) throw error
  const { code, message, details } = refusalOf(error)
  throw new DomainError(code, message, { ...details, acceptance: 'ruled_out' })
}

/** The external name of a model by upstream's, which may be a version of the configured one. */
function externalModel({ models }: Channel, upstreamModel: unknown): string | undefined {
  if (typeof upstreamModel !== 'string') return undefined
  const named = Object.entries(models)
    .filter(
      ([, upstream]) => upstreamModel === upstream || upstreamModel.startsWith(`${upstream}-`),
    )
    .toSorted(([, one], [, other]) => other.length - one.length)
  return named[0]?.[0]
}

/**
 * Names the ids within a response as its call named them, by the bound that the response repeats of
 * its request; the response keeps the caller's id.
 */
function namerOf(
  { channels, keptIds }: KeptResponseDeps,
  { principal, id }: AskedResponse,
  { channelId, upstreamId, tokens, callId }: UpstreamObject,
  { response, model }: { readonly response: JsonObject; readonly model: string | undefined },
): CallerNames['keptId'] {
  const limits =
    model === undefined
      ? []
      : channels
          .serving({ family: responsesRules.name, model })
          .flatMap((channel) => textSettings(channel).largestOutputTokens?.[model] ?? [])
  const largest = limits.length === 0 ? LARGEST_CONVERSATION_TOKENS : Math.max(...limits)
  return keptIds.namer(principal.tenantId, channelId, {
    conversationTokens: tokens ?? LARGEST_CONVERSATION_TOKENS,
    outputTokens: largestAnswer(responsesRules, response, largest),
    previous: { upstreamId, id },
    callId,
  })
}
