import type { EventLog } from '../../../eventlog/log/types.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { failureFields } from '../../../kernel/errors.ts'
import { keyedHash } from '../../../kernel/keyed-hash.ts'
import type { Log } from '../../../kernel/log.ts'
import { createBackoff, pause } from '../../../kernel/pause.ts'
import { createRetryLog } from '../../../kernel/retry-log.ts'
import { noteSigner, type NoteSigner } from '../../../kernel/signed-note.ts'
import { PROGRAM_ACTOR } from '../../accounts/account-commands.ts'
import { decideOnIssuer } from './issuer.ts'

const RETRY_MIN_MS = 1_000
const RETRY_MAX_MS = 60_000

/**
 * The key that signs statements. It follows from the secret that all replicas share, so that each of
 * them signs as any other would, and no file has it.
 *
 * @param host by which callers know the gateway
 */
export function statementSigner(host: string, markerSecret: string): NoteSigner {
  return noteSigner(`${host}/statements`, keyedHash(markerSecret, 'statements', []))
}

interface PublicationDeps {
  readonly log: EventLog
  readonly clock: Clock
  readonly logger: Log
}

/**
 * Publishes a public key in the background, once: a key that the log has is not written again, also
 * where two replicas start together. No start waits for it; while the log takes no event, it is
 * tried again.
 */
export function startKeyPublication(
  { log, clock, logger }: PublicationDeps,
  vkey: string,
): { readonly stop: () => Promise<void> } {
  const stopping = new AbortController()
  const backoff = createBackoff(RETRY_MIN_MS, RETRY_MAX_MS)
  const retries = createRetryLog(logger)
  const deps = { log, clock, correlationId: 'start', actor: PROGRAM_ACTOR }
  const publish = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        const { events } = await decideOnIssuer(deps, { kind: 'publish-key', vkey })
        if (events.length > 0) logger.info({ vkey }, 'published the key of statements')
        return
      } catch (error) {
        if (stopping.signal.aborted) return
        retries.failed(failureFields(error), 'the key of statements was not published')
        await pause(backoff.nextMs(), stopping.signal)
      }
    }
  }
  void publish()
  // A publication that is under way fails when the log is closed.
  return { stop: () => Promise.resolve(stopping.abort()) }
}
