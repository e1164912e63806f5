import { findOwnUpload } from '../../uploads/own-upload.ts'
import type { RunningCalls } from '../running.ts'
import type { MediaDeps, MediaUseCases } from './types.ts'
import { createOpenUpload } from './open.ts'
import { uploadMedia } from './send.ts'

/** The use cases of files that accounts keep for callers. */
export function createMediaUseCases(deps: MediaDeps, running: RunningCalls): MediaUseCases {
  return {
    upload: (input) =>
      running.run(deps.catalog.uploadPlace(input.purpose).family, (stopped) =>
        uploadMedia(deps, input, stopped),
      ),
    openUpload: createOpenUpload(deps),
    findUpload: (key) => findOwnUpload(deps, key),
  }
}
