import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { TokenRow } from '../../../projections/access/query.ts'
import { personKey } from '../../domain/account/approvals.ts'
import type { TokenOrigin } from '../../domain/account/independence.ts'
import type { Person } from '../../domain/account/postings.ts'
import { type IssuedToken, tokenDecider } from '../../domain/token/decider.ts'
import { type TokenEvent, tokenStream } from '../../domain/token/events.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { DomainError } from '../../kernel/errors.ts'
import { lastUsesOf } from './last-uses.ts'
import { fromTimestamp } from '../../kernel/clock.ts'

/** A token without its secret, which is stored nowhere. Times are unix milliseconds. */
export type KnownToken = Omit<TokenRow, 'disabledReason'>

/** A token as the API shows it. */
export interface ShownToken extends KnownToken {
  /** About a minute late; undefined: never, as far as is known. */
  readonly lastUsedAtMs: number | undefined
}

/** Adds when the tokens were last used. */
export async function shownTokens(
  db: Queryable,
  tokens: readonly KnownToken[],
): Promise<readonly ShownToken[]> {
  const uses = await lastUsesOf(
    db,
    tokens.map(({ tokenId }) => tokenId),
  )
  return tokens.map((token) => ({ ...token, lastUsedAtMs: uses.get(token.tokenId) }))
}

/** A token by the events of its stream. */
export function knownToken(tokenId: string, token: IssuedToken): KnownToken {
  const msOf = (time: string | undefined): number | undefined =>
    time === undefined ? undefined : fromTimestamp(time)
  return {
    tokenId,
    tenantId: token.tenantId,
    userId: token.userId,
    kind: token.kind,
    name: token.name,
    scope: token.scope,
    role: token.role,
    subject: token.subject,
    claim: token.claim,
    models: token.models,
    addresses: token.addresses,
    limits: token.limits,
    lastFour: token.lastFour,
    issuedBy: token.issuedBy,
    issuedAtMs: fromTimestamp(token.issuedAt),
    rotatedAtMs: msOf(token.rotatedAt),
    expiresAtMs: msOf(token.expiresAt),
    disabledAtMs: msOf(token.disabledAt),
  }
}

/** A token by the log; undefined if there is none. @throws errors of the log */
export async function readToken(
  log: Pick<EventLog, 'readStream'>,
  tokenId: string,
): Promise<IssuedToken | undefined> {
  const events = await log.readStream(tokenStream(tokenId))
  const state = (events as readonly TokenEvent[]).reduce(tokenDecider.evolve, tokenDecider.initial)
  return state.phase === 'none' ? undefined : state
}

/** The most tokens through which a token was issued: with more of them it gives and approves nothing. */
const MAX_ISSUERS = 100

/**
 * Who is behind a token by the log; undefined if there is no such token.
 * @throws DomainError `scope_denied`; errors of the log
 */
export async function originOf(
  log: Pick<EventLog, 'readStream'>,
  tokenId: string,
): Promise<TokenOrigin | undefined> {
  const token = await readToken(log, tokenId)
  if (token === undefined) return undefined
  // A set is walked in the order of insertion, and those added on the way are reached too.
  const line = new Set([tokenId])
  const users: TokenOrigin['users'][number][] = []
  for (const id of line) {
    const one = await readToken(log, id)
    if (one === undefined) continue
    users.push({ tenantId: one.tenantId, userId: one.userId })
    for (const issuer of one.rotatedBy) line.add(issuer)
    if (one.issuedBy !== undefined) line.add(one.issuedBy)
    if (line.size > MAX_ISSUERS)
      throw new DomainError(
        'scope_denied',
        `A token that was issued through more than ${MAX_ISSUERS} others gives and approves nothing`,
        {},
      )
  }
  return { users, secretMadeAt: token.rotatedAt ?? token.issuedAt }
}

/**
 * A person with everyone who could have used the token as well, for an event that counts towards
 * what one person gives.
 * @throws DomainError `scope_denied`; errors of the log
 */
export async function personWithIssuers(
  log: Pick<EventLog, 'readStream'>,
  { tenantId, userId, tokenId }: Person,
): Promise<Person> {
  const { users = [] } = (await originOf(log, tokenId)) ?? {}
  const issuers = new Map(users.map((user) => [personKey(user), user]))
  issuers.delete(personKey({ tenantId, userId }))
  const person = { tenantId, userId, tokenId }
  return issuers.size === 0 ? person : { ...person, issuers: [...issuers.values()] }
}
