import type { AnyEvent, AnyEventType } from '../../domain/any-event.ts'
import { limitedName } from '../../domain/account/events.ts'
import type { Settlement } from '../../domain/pricing/settlement.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'

type DataOf = { readonly [E in AnyEvent as E['type']]: E['data'] }

/** Longer words, such as those of a provider, are cut: `--json` has all of them. */
const MAX_CHARACTERS = 120

const nothing = (): string => ''

const failure = ({ code, message }: { readonly code: string; readonly message: string }): string =>
  `${code}: ${message}`

const accepted = ({
  nativeId,
  learntFrom,
}: {
  readonly nativeId: string
  readonly learntFrom: 'answer' | 'list'
}): string => (learntFrom === 'list' ? `${nativeId}, found upstream` : nativeId)

/** In alphabetical order: the timeline does not keep that of the event. */
const membersOf = <T>(members: Readonly<Record<string, T>>): readonly (readonly [string, T])[] =>
  Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1))

const linesOf = ({ lines }: Settlement): string =>
  lines.map(({ sku, quantity, unit }) => `${quantity} ${unit} ${sku}`).join(', ')

/** Of every event there is, what a person wants to know beside time, name and money. */
const details: { readonly [T in AnyEventType]: (data: DataOf[T]) => string } = {
  TaskRequested: ({ model }) => model,
  TaskStarted: ({ channelId, expiresAt }) => `through ${channelId}, until ${expiresAt}`,
  TaskSubmitted: ({ nativeId, via }) =>
    via === 'reconciliation' ? `${nativeId}, found upstream` : nativeId,
  TaskSubmissionRefused: failure,
  TaskSubmissionUncertain: ({ reason }) => reason,
  TaskStatusChanged: ({ status, upstreamStatus }) =>
    upstreamStatus === undefined ? status : `${status} (upstream says ${upstreamStatus})`,
  TaskSucceeded: ({ usage }) =>
    membersOf(usage)
      .map(([unit, count]) => `${count} ${unit}`)
      .join(', '),
  TaskSettled: ({ settlement }) => linesOf(settlement),
  TaskFailed: failure,
  TaskExpired: ({ reason, possibleCostLeak }) =>
    possibleCostLeak ? `${reason}, a possible cost leak` : reason,
  TaskCancelled: nothing,
  TaskDeleted: nothing,
  TaskAppearedLate: ({ nativeId, upstreamStatus }) => `${nativeId} is ${upstreamStatus} upstream`,
  CallSettled: ({ model, outcome, settlement }) =>
    `${model}, ${outcome}: ${linesOf(settlement) || 'nothing to pay'}`,
  CallFailed: ({ model, ...said }) => `${model}, ${failure(said)}`,
  CallWrittenOff: ({ model, unbilled, reason }) =>
    `${model}, ${unbilled ? `${unbilled.amount} ${unbilled.currency} never billed` : 'nothing to bill'}: ${reason}`,
  TenantOpened: ({ name }) => name,
  UserAdded: ({ userId, name }) => `${userId} ${name}`,
  CreditGranted: ({ grantId, reason }) => `${grantId}: ${reason}`,
  CreditLimitSet: nothing,
  AdjustmentPosted: ({ corrects, reason }) =>
    `${corrects.kind === 'line' ? corrects.lineId : corrects.grantId}: ${reason}`,
  AccountPricesSet: ({ revision, multiplier, prices }) =>
    multiplier === undefined && prices.length === 0
      ? `list prices again (${revision})`
      : `${multiplier === undefined ? '' : `list × ${multiplier}, `}${prices.length} own prices (${revision})`,
  BudgetsSet: ({ revision, budgets, timeZone }) =>
    `${budgets.length === 1 ? '1 budget' : `${budgets.length} budgets`} by the days of ${timeZone} (${revision})`,
  LimitsSet: ({ revision, limits }) =>
    limits.length === 0
      ? `no limits (${revision})`
      : `limits of ${limits.map(({ subject }) => limitedName(subject)).join(', ')} (${revision})`,
  BalanceAlertsSet: ({ revision, thresholds, webhookUrl }) =>
    thresholds.length === 0
      ? `none (${revision})`
      : `below ${thresholds.map(({ currency, below }) => `${below} ${currency}`).join(', ')}${
          webhookUrl === undefined ? '' : ` to ${webhookUrl}`
        } (${revision})`,
  TokenIssued: ({ kind, name }) => `${kind} token ${name}`,
  TokenRotated: ({ oldValidUntil }) => `the old secret works until ${oldValidUntil}`,
  TokenLimitsChanged: ({ limits }) =>
    membersOf(limits)
      .map(([name, limit]) => `${name} ${limit ?? 'unlimited'}`)
      .join(', '),
  TokenUpdated: ({ name, models, addresses, expiresAt }) =>
    [
      name,
      models?.join(' ') ?? 'all models',
      ...(addresses === undefined ? [] : [`from ${addresses.join(' ')}`]),
      ...(expiresAt === undefined ? [] : [`until ${expiresAt}`]),
    ].join(', '),
  TokenDisabled: ({ reason }) => reason,
  PriceBookPublished: ({ version }) => version,
  FileUploaded: ({ filename, purpose, sizeBytes }) => `${filename}, ${sizeBytes} bytes, ${purpose}`,
  FileDeleted: nothing,
  MediaUploaded: ({ filename, purpose, sizeBytes, channelId }) =>
    `${filename}, ${sizeBytes} bytes, ${purpose}, to ${channelId}`,
  VoiceCloned: ({ voiceId, sourceFileId }) => `${voiceId} of ${sourceFileId}`,
  AssetCreated: ({ assetType, name, groupId }) => `${assetType} ${name}, in ${groupId}`,
  AssetAccepted: accepted,
  AssetRefused: failure,
  AssetActivated: nothing,
  AssetFailed: failure,
  AssetUsed: ({ requestId }) => `by ${requestId}`,
  AssetUpdated: ({ name }) => name,
  AssetWithdrawn: nothing,
  AssetDeleted: nothing,
  AssetGroupCreated: ({ groupType, name }) => `${groupType} ${name}`,
  AssetGroupAccepted: accepted,
  AssetGroupRefused: failure,
  AssetGroupUpdated: ({ name }) => name,
  AssetGroupWithdrawn: nothing,
  AssetGroupDeleted: nothing,
  VerificationStarted: ({ expiresAt }) => `until ${expiresAt}`,
  VerificationConfirmed: ({ groupId }) => groupId,
  VerificationExpired: nothing,
}

function detailOf<T extends AnyEventType>(
  event: { readonly [K in T]: { readonly type: K; readonly data: DataOf[K] } }[T],
): string {
  return details[event.type](event.data)
}

/** What happened, in a few words that fit a terminal, and who had it done. */
export function describe(event: RecordedEvent): string {
  const { actor } = event.metadata
  const words = [detailOf(event), ...(actor === undefined ? [] : [`by ${actor}`])]
    .filter((word) => word !== '')
    .join(', ')
  // What providers say may hold what a terminal would obey.
  const plain = words.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
  return plain.length > MAX_CHARACTERS ? `${plain.slice(0, MAX_CHARACTERS - 1)}…` : plain
}
