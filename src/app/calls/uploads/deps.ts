import { invariant } from '../../../kernel/assert.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import type { MediaProvider } from '../../media-ports.ts'
import type { CallDeps } from '../deps.ts'
import type { UploadQuota } from '../../uploads/quota.ts'

/** What the use cases of uploads stand on. */
export interface MediaDeps extends Omit<CallDeps, 'log'> {
  readonly log: EventLog
  /** By the name of their family. */
  readonly media: ReadonlyMap<string, MediaProvider>
  readonly markerSecret: string
  readonly quota: UploadQuota
}

/** The adapter of a family that keeps files. */
export function mediaOf({ media }: Pick<MediaDeps, 'media'>, family: string): MediaProvider {
  const provider = media.get(family)
  invariant(provider, `a family that takes uploads has their adapter: ${family}`)
  return provider
}
