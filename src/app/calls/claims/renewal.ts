import type { Pool } from 'pg'
import { forAll } from '../../../kernel/asked-by.ts'
import type { Log } from '../../../kernel/log.ts'
import { type ClaimName, LEASE_MS, renewClaims } from './statements.ts'

/** Three renewals may fail before a lease is over. */
const RENEW_EVERY_MS = LEASE_MS / 4

/** The claims of this process whose calls are under way; there are no more than calls. */
export interface Renewal {
  readonly hold: (claim: ClaimName) => void
  readonly drop: (claim: ClaimName) => void
}

/** Renews what is held, together; while nothing is, nothing runs. */
export function createRenewal(
  { pool, logger }: { readonly pool: Pool; readonly logger: Log },
  everyMs: number = RENEW_EVERY_MS,
): Renewal {
  const held = new Set<ClaimName>()
  let timer: NodeJS.Timeout | undefined
  const renew = (): void => {
    renewClaims(pool, [...held]).catch((error: unknown) => {
      logger.warn({ err: error }, 'claims of idempotency keys could not be renewed')
    })
  }
  return {
    hold: (claim) => {
      held.add(claim)
      timer ??= forAll(() => setInterval(renew, everyMs)).unref()
    },
    drop: (claim) => {
      held.delete(claim)
      if (held.size > 0) return
      clearInterval(timer)
      timer = undefined
    },
  }
}
