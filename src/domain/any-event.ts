import { accountEvents, accountStreams, type AccountEvent } from './account/events.ts'
import { assetEvents, assetStreams, type AssetEvent } from './asset/events.ts'
import { assetGroupEvents, assetGroupStreams, type AssetGroupEvent } from './asset-group/events.ts'
import {
  callEvents,
  journalStreams,
  writeOffEvents,
  type CallEvent,
  type WriteOffEvent,
} from './call/events.ts'
import { fileEvents, fileStreams, type FileEvent } from './file/events.ts'
import { priceBookEvents, priceBookStream, type PriceBookEvent } from './pricing/events.ts'
import { taskEvents, taskStreams, type TaskEvent } from './task/events.ts'
import { tokenEvents, tokenStreams, type TokenEvent } from './token/events.ts'
import { uploadEvents, uploadStreams, type UploadEvent } from './upload/events.ts'
import {
  verificationEvents,
  verificationStreams,
  type VerificationEvent,
} from './verification/events.ts'
import { voiceEvents, voiceStreams, type VoiceEvent } from './voice/events.ts'

/**
 * Every event there is; the codec and the projections read this one registry.
 *
 * @see docs/events.md, which has a row for each
 */
export const eventSchemas = {
  ...taskEvents,
  ...callEvents,
  ...writeOffEvents,
  ...accountEvents,
  ...tokenEvents,
  ...priceBookEvents,
  ...fileEvents,
  ...uploadEvents,
  ...voiceEvents,
  ...assetEvents,
  ...assetGroupEvents,
  ...verificationEvents,
} as const

export type AnyEvent =
  | TaskEvent
  | CallEvent
  | WriteOffEvent
  | AccountEvent
  | TokenEvent
  | PriceBookEvent
  | FileEvent
  | UploadEvent
  | VoiceEvent
  | AssetEvent
  | AssetGroupEvent
  | VerificationEvent
export type AnyEventType = AnyEvent['type']

/** How the names of our streams begin: whatever else a shared log holds is not ours. */
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
] as const
export type StreamPrefix = (typeof streamPrefixes)[number]
