import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { LARGEST_CONVERSATION_TOKENS } from '../rules/tokens.ts'
import { vectorStoresOf } from '../rules/wire.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { ChannelQuery } from '../../../app/channels/directory.ts'
import type { Channel } from '../../../app/ports/provider.ts'
import type { KeptKind } from '../ports.ts'
import type { AnswerBounds, UpstreamObject, KeptIds } from './kept-ids.ts'
import { previousNotFound, type TextCallInput, type TextDeps } from './types.ts'
import { textSettings } from '../settings.ts'
import type { PricingInput } from '../../../app/calls/family.ts'

/** A request whose references to kept objects all belong to its tenant. */
interface KeptCall {
  /** The request with upstream's ids in place of the gateway's. */
  readonly body: JsonObject
  /** Only channels that have the referenced objects. */
  readonly channelQuery: ChannelQuery
  /** An upper bound on the input tokens of the referenced objects. */
  readonly keptTokens: number
  /** The response that it continues: upstream's id and the caller's. */
  readonly previous: AnswerBounds['previous']
}

/**
 * Replaces the ids in a responses request by upstream's, and binds the call to the account that
 * keeps their content. Upstream looks up a response it is to continue, an item that is named by its
 * id, and an item of reasoning that comes back without its content; whole items are the caller's
 * own text.
 *
 * @throws DomainError `previous_response_not_found`, `kept_unavailable`, `invalid_request`
 */
export function resolveKept(
  deps: TextDeps,
  call: PricingInput<TextCallInput>,
  largestOutputTokens: number,
): KeptCall {
  const { family, model, body } = call
  if (deps.wire.keepsAnswers !== true)
    return { body, channelQuery: { family, model }, keptTokens: 0, previous: undefined }
  const keeper = createKeeper(deps, call)
  const { previous_response_id: previous, input } = body
  const replaced: Record<string, unknown> = {}
  const upstreamId =
    previous === undefined || previous === null
      ? undefined
      : keeper.upstreamId('response', previous, 'previous_response_id')
  if (upstreamId !== undefined) replaced['previous_response_id'] = upstreamId
  if (Array.isArray(input) && input.some(isLookedUp))
    replaced['input'] = input.map((item: unknown, index) =>
      isLookedUp(item) ? lookedUp(keeper, item, `input[${index}].id`) : item,
    )
  const stores = vectorStoresOf(body)
  const channelId = keeper.channelId()
  const channelQuery: ChannelQuery = {
    family,
    model,
    ...(channelId === undefined ? {} : { channelId }),
    ...(stores === undefined ? {} : { suits: (one) => hasStores(one, stores.ids) }),
  }
  if (stores !== undefined && deps.channels.serving(channelQuery).length === 0)
    refuse(stores.path, `\`${stores.path}\` names a vector store that was not found`)
  return {
    body: Object.keys(replaced).length === 0 ? body : { ...body, ...replaced },
    channelQuery,
    keptTokens: tokensOf(keeper.used(), largestOutputTokens),
    previous: upstreamId === undefined ? undefined : { upstreamId, id: String(previous) },
  }
}

/**
 * Tokens of the kept objects, each counted once: the conversation of a response, and for the items
 * of one answer no more than it had. An id without a count counts as the largest one.
 */
function tokensOf(used: readonly UsedKept[], largestOutputTokens: number): number {
  const ofAnswers = new Map<string, number>()
  let conversationTokens = 0
  for (const [index, { kind, kept }] of used.entries()) {
    if (kind === 'response') conversationTokens += kept.tokens ?? LARGEST_CONVERSATION_TOKENS
    else ofAnswers.set(kept.answer ?? `${index}`, kept.tokens ?? largestOutputTokens)
  }
  const itemTokens = [...ofAnswers.values()].reduce((sum, tokens) => sum + tokens, 0)
  return conversationTokens + Math.min(itemTokens, LARGEST_CONVERSATION_TOKENS)
}

interface UsedKept {
  readonly kind: KeptKind
  readonly kept: UpstreamObject
}

interface Keeper {
  /** @throws DomainError saying why the id cannot be used */
  readonly upstreamId: (kind: KeptKind, id: unknown, param: string) => string
  /** The channel that has all objects referenced so far. */
  readonly channelId: () => string | undefined
  /** Everything asked for so far. */
  readonly used: () => readonly UsedKept[]
}

function createKeeper(
  { channels, keptIds }: Pick<TextDeps, 'channels' | 'keptIds'>,
  { principal, family, model }: PricingInput<TextCallInput>,
): Keeper {
  let pinned: string | undefined
  const used: UsedKept[] = []
  const check = ({ channelId }: UpstreamObject, param: string): void => {
    const channel = channels.byId(channelId)
    if (channel?.family !== family)
      throw new DomainError('kept_unavailable', `the channel ${channelId} is gone`, { param })
    if (!Object.hasOwn(channel.models, model))
      refuse(param, `\`${param}\` cannot be continued with this model; send the turns in \`input\``)
    if (pinned !== undefined && pinned !== channelId)
      refuse(
        param,
        `\`${param}\` cannot be combined with the other earlier responses or files of this request: they are at different accounts`,
      )
  }
  return {
    upstreamId: (kind, id, param) => {
      const kept = typeof id === 'string' ? keptIds.open(principal.tenantId, kind, id) : undefined
      if (kept === undefined) throw previousNotFound({ param })
      check(kept, param)
      pinned = kept.channelId
      used.push({ kind, kept })
      return kept.upstreamId
    },
    channelId: () => pinned,
    used: () => used,
  }
}

/**
 * The body for one channel: whole items that were answered by it are named as it names them. To
 * another account they are plain text without an id.
 */
export function namedAt(
  keptIds: KeptIds,
  { tenantId, channelId }: { readonly tenantId: string; readonly channelId: string },
  body: JsonObject,
): JsonObject {
  const { input } = body
  if (!Array.isArray(input)) return body
  let changed = false
  const named = (input as readonly unknown[]).map((item) => {
    const id = isJsonObject(item) ? item['id'] : undefined
    const kept = typeof id === 'string' ? keptIds.open(tenantId, 'item', id) : undefined
    if (kept === undefined || !isJsonObject(item)) return item
    changed = true
    const { id: _id, ...rest } = item
    return kept.channelId === channelId ? { ...item, id: kept.upstreamId } : rest
  })
  return changed ? { ...body, input: named } : body
}

function hasStores(channel: Channel, wanted: readonly string[]): boolean {
  const shared = textSettings(channel).vectorStores ?? []
  return shared.includes('*') || wanted.every((id) => shared.includes(id))
}

/** An item that upstream looks up by its id: one that is only named, and any of reasoning. */
function isLookedUp(item: unknown): item is JsonObject {
  if (!isJsonObject(item) || (item['id'] ?? undefined) === undefined) return false
  return item['type'] === 'reasoning' || isReference(item)
}

function isReference({ type, role }: JsonObject): boolean {
  const isBare = (type ?? undefined) === undefined && (role ?? undefined) === undefined
  return type === 'item_reference' || isBare
}

/** Whether a reasoning item includes its content, encrypted or not. */
function isWhole(item: JsonObject): boolean {
  const { encrypted_content: encrypted, content } = item
  return (
    (typeof encrypted === 'string' && encrypted !== '') ||
    (Array.isArray(content) && content.length > 0)
  )
}

/** Reasoning that includes its content needs no id, so an unusable id is left out. */
function lookedUp(keeper: Keeper, item: JsonObject, param: string): JsonObject {
  const { id, ...rest } = item
  try {
    return { ...item, id: keeper.upstreamId('item', id, param) }
  } catch (error) {
    if (!isReference(item) && isWhole(item)) return rest
    throw error
  }
}
