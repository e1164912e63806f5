import { failureWords } from '../../domain/event-facts.ts'
import type { NoteAction } from '../../domain/note/events.ts'
import { oneLine } from '../../kernel/plain-text.ts'
import type { Usage } from '../../domain/pricing/usage.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'

/** Each event of a life in words for its reader: what happened, and who said so. */

/** The life waits, is worked on, or has an outcome that is not known; it is done, or failed; `moved`: none of these. */
export type StepState = 'waiting' | 'running' | 'uncertain' | 'done' | 'failed' | 'moved'

export interface StepWords {
  readonly by: 'caller' | 'gateway' | 'provider' | 'operator'
  readonly title: string
  /** More of it; may be empty. It never names an account or an address upstream. */
  readonly detail: string
  readonly state: StepState
}

type EventOf<Type extends RecordedEvent['type']> = Extract<RecordedEvent, { readonly type: Type }>

/** Writes the usage that is not zero, `108900 completion tokens`. */
function usageWords(usage: Usage): string {
  return Object.entries(usage)
    .filter(([, count]) => count !== 0)
    .map(([unit, count]) => `${count} ${unit.replaceAll(/[_-]/g, ' ')}`)
    .join(', ')
}

/** Whether a request of the caller led to the event, and no work in the background. */
function isOfCaller({ metadata }: RecordedEvent): boolean {
  return metadata.correlationId?.startsWith('req_') ?? false
}

function statusWords({ data }: EventOf<'TaskStatusChanged'>): StepWords {
  const { status, upstreamStatus, awaitsUsage, reported } = data
  if (awaitsUsage === true) {
    const title =
      reported === undefined ? 'made, usage not reported' : 'made, reported usage not believed'
    const detail = reported === undefined ? '' : `${usageWords(reported)} reported`
    return { by: 'provider', title, detail, state: 'uncertain' }
  }
  const detail = upstreamStatus === undefined ? '' : `the provider says ${upstreamStatus}`
  return { by: 'provider', title: status, detail, state: 'running' }
}

function expiryWords({ data }: EventOf<'TaskExpired'>): StepWords {
  const isOfDeadline = data.reason === 'deadline'
  return {
    by: isOfDeadline ? 'gateway' : 'provider',
    title: 'expired',
    detail: isOfDeadline ? 'no result was seen by the deadline' : '',
    state: 'failed',
  }
}

/** Words of an event that moves no money. */
const plain = (by: StepWords['by'], title: string, state: StepState, detail = ''): StepWords => ({
  by,
  title,
  detail,
  state,
})

const fileWords = (data: {
  readonly filename: string
  readonly sizeBytes: number
  readonly purpose: string
}): string => `${data.filename}, ${data.sizeBytes} bytes, ${data.purpose}`

const failed = (data: { readonly code: string; readonly message: string }) =>
  ({ detail: failureWords(data), state: 'failed' }) as const

/** Says who ended a task without a result, and how. */
function failureOf({
  absence,
  givenUp,
}: EventOf<'TaskFailed'>['data']): Pick<StepWords, 'by' | 'title'> {
  if (givenUp !== undefined) return { by: 'operator', title: 'given up' }
  return absence === undefined
    ? { by: 'provider', title: 'failed' }
    : { by: 'gateway', title: 'never accepted' }
}

const noteTitles = {
  none: 'noted',
  poll: 'asked to look again',
  give_up: 'asked to give up',
} as const satisfies Record<NoteAction | 'none', string>

/** Describes each event of a life. Their own words are for operators: some name an account. */
const words: {
  readonly [Type in RecordedEvent['type']]?: (event: EventOf<Type>) => StepWords
} = {
  TaskRequested: ({ data }) => ({
    by: 'caller',
    title: 'requested',
    detail: `${data.model}, by ${data.userId}`,
    state: 'waiting',
  }),
  TaskStarted: () => plain('gateway', 'begun', 'running'),
  TaskSubmitted: ({ data }) => ({
    by: 'provider',
    title: data.via === 'reconciliation' ? 'found at the provider' : 'accepted',
    detail: data.nativeId,
    state: 'waiting',
  }),
  TaskSubmissionRefused: ({ data }) => ({ by: 'provider', title: 'refused', ...failed(data) }),
  TaskSubmissionUncertain: () => ({
    by: 'gateway',
    title: 'sent, no clear answer',
    detail: 'the gateway looks for it, and never sends it again',
    state: 'uncertain',
  }),
  TaskStatusChanged: statusWords,
  TaskSucceeded: ({ data }) => ({
    by: 'provider',
    title: 'succeeded',
    detail: usageWords(data.usage),
    state: 'done',
  }),
  TaskSettled: () => plain('gateway', 'settled', 'done'),
  TaskFailed: ({ data }) => ({ ...failureOf(data), ...failed(data) }),
  TaskAppearedLate: ({ data }) => ({
    by: 'provider',
    title: 'appeared late at the provider',
    detail: `${data.nativeId} is ${data.upstreamStatus}; nothing is charged for it`,
    state: 'moved',
  }),
  TaskExpired: expiryWords,
  TaskCancelled: (event) => ({
    by: isOfCaller(event) ? 'caller' : 'provider',
    title: 'cancelled',
    detail: '',
    state: 'failed',
  }),
  TaskDeleted: () => plain('caller', 'deleted', 'moved'),
  CallSettled: ({ data }) => ({
    by: 'provider',
    title: data.outcome === 'disconnected' ? 'made, the caller had left' : 'answered',
    detail: usageWords(data.usage),
    state: 'done',
  }),
  CallFailed: ({ data }) => ({ by: 'provider', title: 'failed', ...failed(data) }),
  CallWrittenOff: ({ data }) => plain('operator', 'written off', 'failed', data.reason),
  AssetCreated: ({ data }) =>
    plain('caller', 'created', 'waiting', `${data.assetType} ${data.name}`.trim()),
  AssetAccepted: () => plain('provider', 'accepted', 'running'),
  AssetRefused: ({ data }) => ({ by: 'provider', title: 'refused', ...failed(data) }),
  AssetActivated: () => plain('provider', 'ready', 'done'),
  AssetFailed: ({ data }) => ({ by: 'provider', title: 'failed', ...failed(data) }),
  AssetUsed: ({ data }) => plain('caller', 'used', 'moved', `by ${data.requestId}`),
  AssetUpdated: () => plain('caller', 'changed', 'moved'),
  AssetWithdrawn: () => plain('caller', 'deleted', 'moved'),
  AssetDeleted: () => plain('provider', 'deleted at the provider', 'moved'),
  AssetGroupCreated: ({ data }) => plain('caller', 'created', 'waiting', data.name),
  AssetGroupAccepted: () => plain('provider', 'accepted', 'done'),
  AssetGroupRefused: ({ data }) => ({ by: 'provider', title: 'refused', ...failed(data) }),
  AssetGroupUpdated: () => plain('caller', 'changed', 'moved'),
  AssetGroupWithdrawn: () => plain('caller', 'deleted', 'moved'),
  AssetGroupDeleted: () => plain('provider', 'deleted at the provider', 'moved'),
  VerificationStarted: ({ data }) =>
    plain('caller', 'started', 'waiting', `until ${data.expiresAt}`),
  VerificationConfirmed: ({ data }) => plain('provider', 'confirmed', 'done', data.groupId),
  VerificationExpired: () => plain('gateway', 'expired', 'failed'),
  FileUploaded: ({ data }) => plain('caller', 'uploaded', 'done', fileWords(data)),
  FileDeleted: () => plain('caller', 'deleted', 'moved'),
  MediaUploaded: ({ data }) => plain('caller', 'uploaded', 'done', fileWords(data)),
  NotePosted: ({ data }) => ({
    by: data.audience === 'operators' ? 'operator' : 'caller',
    title: noteTitles[data.action ?? 'none'],
    detail: oneLine(data.text),
    state: 'moved',
  }),
  VoiceCloned: () => plain('provider', 'cloned', 'done'),
}

/** `TaskAppearedLate` as `task appeared late`, for an event of a type that has no words here. */
function plainTitle(type: string): string {
  return type.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim()
}

/** Describes an event in words. */
export function stepWordsOf(event: RecordedEvent): StepWords {
  const known = words[event.type] as ((one: RecordedEvent) => StepWords) | undefined
  return known?.(event) ?? plain('gateway', plainTitle(event.type), 'moved')
}
