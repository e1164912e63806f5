import type { EventLog } from '../../../eventlog/log/types.ts'
import type { MediaProvider } from '../../media-ports.ts'
import type { CallDeps } from '../deps.ts'
import type { UploadQuota } from '../../uploads/quota.ts'
import type { VoiceBook } from './voice-book.ts'

/** What the use cases of uploads and voices stand on beside the road of every call. */
export interface MediaDeps extends Omit<CallDeps, 'log'> {
  readonly log: EventLog
  readonly media: MediaProvider
  readonly voices: VoiceBook
  readonly markerSecret: string
  readonly quota: UploadQuota
}
