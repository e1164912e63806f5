import { sharerOf } from '../../../domain/token/sharer.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { attempt, endAttempt, noChannelError } from '../../channels/attempt.ts'
import type { ChannelQuery } from '../../channels/directory.ts'
import { refusalOf } from '../../channels/refusal.ts'
import { createOpenFiles } from '../../spending/open-files.ts'
import { findOwnUpload } from '../../files/uploads/own-upload.ts'
import { type RunningCalls, startedBy } from '../running-calls.ts'
import { uploadMedia } from './send.ts'
import { type MediaDeps, mediaOf, type MediaUseCases } from './types.ts'

/** The use cases of files that accounts store for callers. */
export function createMediaUseCases(deps: MediaDeps, running: RunningCalls): MediaUseCases {
  return {
    upload: (input) => {
      const { principal } = input
      const { family } = deps.catalog.uploadPlace(input.purpose)
      return running.run(startedBy({ family, principal }), (stopped) =>
        uploadMedia(deps, input, stopped),
      )
    },
    openUpload: createOpenUpload(deps),
    findUpload: (key) => findOwnUpload(deps, key),
  }
}

/** Uploads that one process streams in parallel. */
const MAX_OPEN = 64
/** From the request to the head of the answer. */
const FIRST_BYTE_TIMEOUT_MS = 30_000
/** Longest silence within a file. */
const IDLE_TIMEOUT_MS = 60_000

function left(): DomainError {
  return new DomainError(
    'upstream_unavailable',
    'the caller disconnected before the file arrived',
    {},
  )
}

/** Streams the account's copy of an upload; the gateway stores nothing of it. */
function createOpenUpload(deps: MediaDeps): MediaUseCases['openUpload'] {
  const openFiles = createOpenFiles(MAX_OPEN)
  return async ({ signal, requestId, ...key }) => {
    const upload = await findOwnUpload(deps, key)
    const { upstreamFileId, channelId } = upload
    const { family, model, maxBytes } = deps.catalog.uploadPlace(upload.purpose)
    const sharer = sharerOf(key.principal)
    const channelQuery: ChannelQuery = {
      family,
      channelId,
      ...(model === undefined ? {} : { model }),
    }
    const release = openFiles.take(key.principal.tenantId)
    let isHeld = false
    try {
      const plan = { sharer, channelQuery, maxChannels: 1, onFailure: () => undefined }
      const file = {
        upstreamFileId,
        maxBytes,
        firstByteTimeoutMs: FIRST_BYTE_TIMEOUT_MS,
        idleTimeoutMs: IDLE_TIMEOUT_MS,
      }
      const attempted = await attempt(deps, plan, (channel) =>
        mediaOf(deps, family)
          .open(channel, file, { signal, requestId })
          .catch((error: unknown) => {
            // A caller's disconnect says nothing about the account's health.
            throw signal.aborted ? left() : error
          }),
      )
      if (attempted.kind === 'untried') throw noChannelError(deps, sharer, channelQuery, {})
      if (attempted.kind === 'failed') throw refusalOf(attempted.error)
      const { lease, result } = attempted
      isHeld = true
      result.body.once('close', () => {
        release()
        endAttempt(deps, channelQuery, lease, undefined)
      })
      return { upload, ...result }
    } finally {
      if (!isHeld) release()
    }
  }
}
