import { findOwnUpload } from '../../uploads/own-upload.ts'
import type { RunningCalls } from '../running.ts'
import { completeCall } from '../whole.ts'
import { createCloneFamily, readyClone } from './clone.ts'
import type { MediaDeps } from './deps.ts'
import { createOpenUpload } from './open-upload.ts'
import type { MediaUseCases } from './types.ts'
import { uploadMedia } from './upload.ts'

/** The use cases of what accounts keep for callers: files and voices. */
export function createMediaUseCases(deps: MediaDeps, running: RunningCalls): MediaUseCases {
  const family = createCloneFamily(deps)
  return {
    upload: (input) =>
      running.run(deps.catalog.uploadPlace(input.purpose).family, (stopped) =>
        uploadMedia(deps, input, stopped),
      ),
    openUpload: createOpenUpload(deps),
    findUpload: (key) => findOwnUpload(deps, key),
    clone: (input) =>
      running.run(input.family, async (stopped) =>
        completeCall(deps, family, await readyClone(deps, input), stopped),
      ),
  }
}
