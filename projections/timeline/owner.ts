import type { RecordedEvent } from '../../src/eventlog/log/types.ts'

/** Whose an event is. */
export interface Owner {
  readonly tenantId: string
  readonly userId: string | undefined
}

/**
 * What an event is about: a task, a call, a file, an asset, a verification or a token; undefined for what
 * is the account's own.
 */
export function sourceOf(event: RecordedEvent): string | undefined {
  switch (event.type) {
    case 'AssetCreated':
    case 'AssetAccepted':
    case 'AssetRefused':
    case 'AssetActivated':
    case 'AssetFailed':
    case 'AssetUsed':
    case 'AssetUpdated':
    case 'AssetWithdrawn':
    case 'AssetDeleted':
      return event.data.assetId
    case 'AssetGroupCreated':
    case 'AssetGroupAccepted':
    case 'AssetGroupRefused':
    case 'AssetGroupUpdated':
    case 'AssetGroupWithdrawn':
    case 'AssetGroupDeleted':
      return event.data.groupId
    case 'VerificationStarted':
    case 'VerificationConfirmed':
    case 'VerificationExpired':
      return event.data.verificationId
    case 'CallSettled':
    case 'CallFailed':
    case 'CallWrittenOff':
      return event.data.callId
    case 'TokenIssued':
    case 'TokenRotated':
    case 'TokenLimitsChanged':
    case 'TokenUpdated':
    case 'TokenDisabled':
      return event.data.tokenId
    case 'FileUploaded':
    case 'FileDeleted':
    case 'MediaUploaded':
      return event.data.fileId
    case 'TenantOpened':
    case 'UserAdded':
    case 'CreditGranted':
    case 'CreditLimitSet':
    case 'AdjustmentPosted':
    case 'AccountPricesSet':
    case 'BudgetsSet':
    case 'LimitsSet':
    case 'BalanceAlertsSet':
    case 'PriceBookPublished':
    // Of a tenant like its users: it may be cloned again under its name.
    case 'VoiceCloned':
      return undefined
    case 'TaskRequested':
    case 'TaskStarted':
    case 'TaskSubmitted':
    case 'TaskSubmissionRefused':
    case 'TaskSubmissionUncertain':
    case 'TaskStatusChanged':
    case 'TaskSucceeded':
    case 'TaskSettled':
    case 'TaskFailed':
    case 'TaskExpired':
    case 'TaskCancelled':
    case 'TaskDeleted':
    case 'TaskAppearedLate':
      return event.data.platformId
  }
}

/** The owner, where the event itself says it: always in the first event of a source. */
export function firstFacts(event: RecordedEvent): Owner | undefined {
  if (!('tenantId' in event.data)) return undefined
  const { tenantId } = event.data
  return { tenantId, userId: 'userId' in event.data ? event.data.userId : undefined }
}

/** The upstream's id of the task, the asset or the group, where the event names it. */
export function nativeIdOf(event: RecordedEvent): string | undefined {
  return event.type === 'TaskSubmitted' ||
    event.type === 'AssetAccepted' ||
    event.type === 'AssetGroupAccepted' ||
    event.type === 'TaskSucceeded' ||
    event.type === 'TaskAppearedLate'
    ? event.data.nativeId
    : undefined
}
