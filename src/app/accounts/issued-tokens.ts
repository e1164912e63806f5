import pLimit from 'p-limit'
import { listIssued } from '../../../projections/access/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { requireCaughtUp } from '../read-models/catch-up.ts'
import { type AccountCommandDeps, disableToken } from './account-commands.ts'

/**
 * Maximum number of tokens that one request counts or disables; a repetition continues with the
 * next.
 */
const MAX_ISSUED = 1_000
/** Tokens that are disabled at a time. */
const CONCURRENTLY = 8

/**
 * Number of tokens that were disabled with their issuer, which issued them directly or through
 * others.
 */
export interface IssuedCount {
  /** Disabled by this request. */
  readonly disabled: number
  /** Not disabled; `MAX_ISSUED` where there are as many or more. */
  readonly active: number
}

/**
 * Counts or disables the tokens that a token issued. If the process dies in between, a repetition
 * disables the rest.
 * @throws DomainError `read_model_behind`, and the codes of the log
 */
export async function disableIssued(
  deps: AccountCommandDeps,
  db: Queryable,
  input: {
    readonly tokenId: string
    /** Why they are disabled; undefined only counts them. */
    readonly reason: string | undefined
    readonly mayDisable: (owner: { readonly tenantId: string; readonly userId: string }) => boolean
  },
): Promise<IssuedCount> {
  const { tokenId, reason, mayDisable } = input
  const caughtUp = requireCaughtUp({ db, log: deps.log }, 'access')
  // A token is disabled even if the read model cannot list the tokens that it issued.
  await (reason === undefined ? caughtUp.catch(() => undefined) : caughtUp)
  const listed = await listIssued(db, { tokenId, limit: MAX_ISSUED })
  const issued = listed.filter(mayDisable)
  if (reason === undefined) return { disabled: 0, active: issued.length }
  const slots = pLimit(CONCURRENTLY)
  await Promise.all(
    issued.map(({ tokenId: issuedId }) =>
      slots(() => disableToken(deps, { tokenId: issuedId, reason: `${reason} with ${tokenId}` })),
    ),
  )
  return { disabled: issued.length, active: 0 }
}
