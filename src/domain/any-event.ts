import { accountEvents, accountFacts, accountStreams, type AccountEvent } from './account/events.ts'
import { assetEvents, assetFacts, assetStreams, type AssetEvent } from './asset/events.ts'
import {
  assetGroupEvents,
  assetGroupFacts,
  assetGroupStreams,
  type AssetGroupEvent,
} from './asset-group/events.ts'
import {
  callEvents,
  callFacts,
  journalStreams,
  spoolEvents,
  writeOffEvents,
  type CallEvent,
  type SpoolEvent,
  type WriteOffEvent,
} from './call/events.ts'
import type { EventFacts, MoneyEffect } from './event-facts.ts'
import { fileEvents, fileFacts, fileStreams, type FileEvent } from './file/events.ts'
import {
  installationEvents,
  installationFacts,
  type InstallationEvent,
} from './installation/events.ts'
import { issuerEvents, issuerFacts, issuerStream, type IssuerEvent } from './issuer/events.ts'
import { noteEvents, noteFacts, noteStreams, type NoteEvent } from './note/events.ts'
import {
  savedViewEvents,
  savedViewFacts,
  savedViewStreams,
  type SavedViewEvent,
} from './saved-view/events.ts'
import { viewEvents, viewFacts, viewStreams, type ViewEvent } from './view/events.ts'
import {
  priceBookEvents,
  priceBookFacts,
  priceBookStream,
  type PriceBookEvent,
} from './pricing/events.ts'
import {
  statementEvents,
  statementFacts,
  statementStreams,
  type StatementEvent,
} from './statement/events.ts'
import { taskEvents, taskFacts, taskStreams, type TaskEvent } from './task/events.ts'
import { tokenEvents, tokenFacts, tokenStreams, type TokenEvent } from './token/events.ts'
import { uploadEvents, uploadFacts, uploadStreams, type UploadEvent } from './upload/events.ts'
import {
  verificationEvents,
  verificationFacts,
  verificationStreams,
  type VerificationEvent,
} from './verification/events.ts'
import { voiceEvents, voiceFacts, voiceStreams, type VoiceEvent } from './voice/events.ts'

/**
 * All types of events. The codec and the projections read this one registry.
 *
 * @see docs/events.md, which has a row for each
 */
export const eventSchemas = {
  ...taskEvents,
  ...callEvents,
  ...writeOffEvents,
  ...spoolEvents,
  ...accountEvents,
  ...tokenEvents,
  ...priceBookEvents,
  ...fileEvents,
  ...uploadEvents,
  ...voiceEvents,
  ...assetEvents,
  ...assetGroupEvents,
  ...verificationEvents,
  ...noteEvents,
  ...viewEvents,
  ...savedViewEvents,
  ...statementEvents,
  ...issuerEvents,
  ...installationEvents,
} as const

export type AnyEvent =
  | TaskEvent
  | CallEvent
  | WriteOffEvent
  | SpoolEvent
  | AccountEvent
  | TokenEvent
  | PriceBookEvent
  | FileEvent
  | UploadEvent
  | VoiceEvent
  | AssetEvent
  | AssetGroupEvent
  | VerificationEvent
  | NoteEvent
  | ViewEvent
  | SavedViewEvent
  | StatementEvent
  | IssuerEvent
  | InstallationEvent
export type AnyEventType = AnyEvent['type']

type DataOf = { readonly [E in AnyEvent as E['type']]: E['data'] }
type EventOf<T extends AnyEventType> = {
  readonly [K in T]: { readonly type: K; readonly data: DataOf[K] }
}[T]

/** The facts of each type of event. */
const eventFacts: { readonly [T in AnyEventType]: EventFacts<DataOf[T]> } = {
  ...taskFacts,
  ...callFacts,
  ...accountFacts,
  ...tokenFacts,
  ...priceBookFacts,
  ...fileFacts,
  ...uploadFacts,
  ...voiceFacts,
  ...assetFacts,
  ...assetGroupFacts,
  ...verificationFacts,
  ...noteFacts,
  ...viewFacts,
  ...savedViewFacts,
  ...statementFacts,
  ...issuerFacts,
  ...installationFacts,
}

/**
 * Id of the task, call, file, asset, group, verification, token or viewed tenant that an event is about; undefined for
 * an event of the account itself.
 */
export function sourceOf<T extends AnyEventType>(event: EventOf<T>): string | undefined {
  return eventFacts[event.type].source(event.data)
}

/** The time at which the event happened, RFC 3339. */
export function timeOf<T extends AnyEventType>(event: EventOf<T>): string {
  return eventFacts[event.type].at(event.data)
}

/** Whether an event is the first of its source. */
export function isFirstOfSource({ type }: Pick<AnyEvent, 'type'>): boolean {
  return eventFacts[type].begins === true
}

/** The upstream's id of an event's source, where the event makes it known. */
export function nativeIdOf<T extends AnyEventType>(event: EventOf<T>): string | undefined {
  return eventFacts[event.type].nativeId?.(event.data)
}

const NOTHING: readonly MoneyEffect[] = []

/** The effects of an event on the money of its tenant, in order. */
export function moneyEffectsOf<T extends AnyEventType>(event: EventOf<T>): readonly MoneyEffect[] {
  return eventFacts[event.type].moves?.(event.data) ?? NOTHING
}

/** The types of the events that move money. */
export const movingTypes: ReadonlySet<AnyEventType> = new Set(
  (Object.keys(eventFacts) as AnyEventType[]).filter((type) => eventFacts[type].moves),
)

/** Describes an event in one line for people; empty where the type alone is enough. */
export function wordsOf<T extends AnyEventType>(event: EventOf<T>): string {
  return eventFacts[event.type].words(event.data)
}

/**
 * Prefixes of the gateway's streams that are read together: on a shared log, other programs own the
 * other streams. `installationStream` is read alone.
 */
export const streamPrefixes = [
  taskStreams,
  journalStreams,
  accountStreams,
  tokenStreams,
  priceBookStream,
  fileStreams,
  uploadStreams,
  voiceStreams,
  assetStreams,
  assetGroupStreams,
  verificationStreams,
  noteStreams,
  viewStreams,
  savedViewStreams,
  statementStreams,
  issuerStream,
] as const
export type StreamPrefix = (typeof streamPrefixes)[number]
