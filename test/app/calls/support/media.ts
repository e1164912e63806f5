import { families } from '../../../../src/families/index.ts'
import { createUploadQuota, defaultUploadLimits } from '../../../../src/app/files/uploads/quota.ts'
import type { Logger } from 'pino'
import type { Pool } from 'pg'
import { Registry } from 'prom-client'
import { readClone } from '../../../../src/families/speech/rules/clone-request.ts'
import { createCallRunner, createRunningCalls } from '../../../../src/app/calls/running-calls.ts'
import { openSpeech } from '../../../../src/families/speech/calls/clone.ts'
import type { Cloned, CloneInput } from '../../../../src/families/speech/calls/family.ts'
import type { CompletedCall } from '../../../../src/app/calls/family.ts'
import type { MediaUseCases } from '../../../../src/app/calls/uploads/types.ts'
import {
  createSpeechProvider,
  createCloneProvider,
} from '../../../../src/families/speech/upstream/client.ts'
import { createMediaUseCases } from '../../../../src/app/calls/uploads/use-cases.ts'
import type { MediaProvider } from '../../../../src/app/ports/media.ts'
import type { CrashPoint } from '../../../../src/app/crash-points.ts'
import { compose } from '../../../../src/start/compose.ts'
import { createJournal, newInstanceId } from '../../../../src/eventlog/journal/journal.ts'
import type { EventLog } from '../../../../src/eventlog/log/types.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { newRequestId } from '../../../../src/kernel/ids.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { sandboxSpeechChannels } from '../../../helpers/sandbox-channels.ts'
import { principalOf } from '../../support/world.ts'

/** What is asked of files and voices. */
interface MediaCalls extends MediaUseCases {
  readonly clone: (input: CloneInput) => Promise<CompletedCall<Cloned>>
}

/** Uploads and clones over real parts, without HTTP; `stop` lets go of the journal and the providers. */
export function mediaOf(ground: {
  readonly pool: Pool
  readonly log: EventLog
  readonly sandboxUrl: string
  readonly crashPoint: CrashPoint
  /** Instead of the adapter. */
  readonly upload?: MediaProvider['upload']
  readonly logger?: Logger
}): MediaCalls & { readonly stop: (deadlineMs?: number) => Promise<void> } {
  const { pool, log, sandboxUrl, crashPoint, upload, logger = silentLog } = ground
  const instanceId = newInstanceId(Date.now())
  const parts = compose({
    families,
    ownRequestsPerMinute: 60_000,
    pool,
    log,
    channels: sandboxSpeechChannels({ baseUrl: sandboxUrl }),
    sandbox: true,
    markerSecret: 'a secret of the tests',
    pollRequestsPerSecond: 1,
    clock: systemClock,
    logger,
    metrics: new Registry(),
    crashPoint,
    // The read models follow another log than this process writes.
    lag: { lagMs: () => 0, look: () => Promise.resolve() },
  })
  const journal = createJournal({ log, instanceId, logger })
  const deps = {
    ...parts.calls(instanceId),
    ...parts.media,
    quota: createUploadQuota({
      pool,
      limits: defaultUploadLimits,
      // Likewise.
      readModels: { requireCurrent: () => Promise.resolve() },
    }),
    media: new Map(
      [...parts.media.media].map(([family, provider]) => [
        family,
        { ...provider, ...(upload === undefined ? {} : { upload }) },
      ]),
    ),
    journal,
  }
  const running = createRunningCalls(deps)
  const runner = createCallRunner(deps, running)
  const [provider, clones] = [createSpeechProvider(), createCloneProvider()]
  const speech = openSpeech({ ...deps, provider, clones })
  return {
    clone: (input) => runner.complete(speech.clones, input),
    ...createMediaUseCases(deps, running),
    stop: async (deadlineMs = 5_000) => {
      await running.close(deadlineMs)
      await journal.close()
      await Promise.all([provider.close(), clones.close()])
      await parts.stop()
    },
  }
}

const by = () => ({ principal: principalOf(), requestId: newRequestId(Date.now()) })

/** Uploads a sample of a voice; its id. */
export async function sampleIn(media: MediaUseCases): Promise<string> {
  const body = (async function* () {
    yield await Promise.resolve(Buffer.from('ID3 a sample of a voice'))
  })()
  const file = { purpose: 'voice_clone', filename: 'me.mp3', body } as const
  return (await media.upload({ ...by(), ...file })).fileId
}

/** Clones the sample under a name, with an audition. */
export function cloneIn(media: MediaCalls, fileId: string, voiceId: string, text: string) {
  return media.clone({
    ...by(),
    family: 'speech',
    surface: 'test.voices',
    model: 'voice-clone',
    callerGone: new AbortController().signal,
    request: readClone({ file_id: fileId, voice_id: voiceId, text, model: 'speech-2.8-hd' }),
  })
}
