import pLimit from 'p-limit'
import { listIssued } from '../../../projections/access/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { requireCaughtUp } from '../read-models/catch-up.ts'
import { type AccountCommandDeps, disableToken } from './account-commands.ts'

/** Tokens that one request counts or disables; a repetition goes on with the next. */
const MAX_ISSUED = 1_000
/** Tokens that are disabled at a time. */
const CONCURRENTLY = 8

/** How many tokens were disabled with the token that issued them, itself or through those it issued. */
export interface IssuedCount {
  /** Disabled by this request. */
  readonly disabled: number
  /** Not disabled; `MAX_ISSUED` where there are as many or more. */
  readonly active: number
}

/**
 * Counts what a token issued, or disables it. The process may die in between: a repetition disables
 * the others.
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
  // A token is disabled whether or not the read model can say what it issued.
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
