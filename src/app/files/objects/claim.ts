import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'
import { priceBookStream } from '../../../domain/pricing/events.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Log } from '../../../kernel/log.ts'
import type { NamespacedObjects } from '../../../storage/namespaced-objects.ts'

/** Gateways that claim one namespace check again after this: the later marker stays. */
export const CLAIM_SETTLES_MS = 600_000

/** The objects that a purge may delete. */
type Claim =
  /** The namespace is another log's, or its marker cannot be read. */
  | 'none'
  /** The namespace was claimed a moment ago, and the claim does not count yet. */
  | 'settling'
  | 'namespace'
  /** Objects of the namespace, and those without one, if the log shows that they are ours. */
  | 'namespace_and_unprefixed'

interface ClaimDeps {
  readonly log: Pick<EventLog, 'readStream'>
  readonly namespace: string
  readonly objects: Pick<NamespacedObjects, 'marker' | 'putMarker'>
  readonly clock: Clock
  readonly logger: Log
  readonly registry: Registry
}

/**
 * Checks the marker of our namespace before each purge, and claims a namespace without one. A log
 * is identified by when, and at which position, its first price book was written. Every gateway
 * publishes one before it serves, a rebuild of the database does not change it, and no two logs
 * have the same.
 */
export function createClaim(deps: ClaimDeps): () => Promise<Claim> {
  const { log, namespace, objects, clock, logger } = deps
  const refused = new Gauge({
    name: 'tollgate_objects_claim_refused',
    help: '1 while the marker of our namespace in object storage names another log: no object is purged.',
    registers: [deps.registry],
  })
  return async () => {
    const [first] = await log.readStream(priceBookStream, { limit: 1 })
    // Without prices no request is accepted, so nothing is stored.
    if (first === undefined) return 'settling'
    const name = `${first.recordedAt.toISOString()} ${first.position}`
    const marker = await objects.marker()
    const nowMs = clock.nowMs()
    if (marker === undefined) {
      const wasHereBefore = nowMs - first.recordedAt.getTime() > CLAIM_SETTLES_MS
      await objects.putMarker({
        namespace,
        log: name,
        unprefixed: wasHereBefore,
        claimedAtMs: nowMs,
      })
      refused.set(0)
      return 'settling'
    }
    if (marker === 'unreadable' || marker.log !== name || marker.namespace !== namespace) {
      refused.set(1)
      logger.error(
        { namespace, ours: name, marker },
        'the objects of this namespace belong to another log: nothing is purged',
      )
      return 'none'
    }
    refused.set(0)
    if (nowMs - marker.claimedAtMs < CLAIM_SETTLES_MS) return 'settling'
    return marker.unprefixed ? 'namespace_and_unprefixed' : 'namespace'
  }
}
