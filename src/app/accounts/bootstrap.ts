import { accountDecider, type AccountCommand } from '../../domain/account/decider.ts'
import { accountStream } from '../../domain/account/events.ts'
import { tokenDecider, type TokenCommand } from '../../domain/token/decider.ts'
import {
  type QueryScope,
  type TokenKind,
  type TokenLimits,
  tokenPrefixes,
  tokenStream,
} from '../../domain/token/events.ts'
import type { TokenLimitChanges } from '../../domain/token/limits.ts'
import { executeCommand } from '../../eventlog/log/execute.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { type Clock, toTimestamp } from '../../kernel/clock.ts'
import { newId, newSecret, sha256Hex } from '../../kernel/ids.ts'
import type { Currency } from '../../kernel/money.ts'

/** Tenants, users, credit and tokens through the log: for the first start and for operators. */

export interface AccessDeps {
  readonly log: EventLog
  readonly clock: Clock
  /** Written beside the events: what did it, e.g. `cli` or `first-start`. */
  readonly correlationId: string
  /** Written beside the events too: who had it done, a person's name or this program's. */
  readonly actor: string
}

/** Who is named for what the program does by itself. */
export const PROGRAM_ACTOR = 'tollgate'

/** What came of a command. */
export interface Changed {
  /** False when all of it was so before. */
  readonly changed: boolean
  /** Where it stands in the log; undefined when nothing changed. */
  readonly position: bigint | undefined
}

/** Decides a command on a tenant's account. @throws DomainError of the account decider */
export async function changeAccount(deps: AccessDeps, command: AccountCommand): Promise<Changed> {
  const { tenantId } = command
  const result = await executeCommand({
    log: deps.log,
    stream: accountStream(tenantId),
    decider: accountDecider,
    command,
    commandId: newId('cmd', deps.clock.nowMs()),
    metadata: { correlationId: deps.correlationId, actor: deps.actor, tenantId },
  })
  return { changed: result.events.length > 0, position: result.position }
}

async function changeToken(
  deps: AccessDeps,
  tokenId: string,
  command: TokenCommand,
): Promise<Changed> {
  const result = await executeCommand({
    log: deps.log,
    stream: tokenStream(tokenId),
    decider: tokenDecider,
    command,
    commandId: newId('cmd', deps.clock.nowMs()),
    metadata: { correlationId: deps.correlationId, actor: deps.actor },
  })
  return { changed: result.events.length > 0, position: result.position }
}

function now(deps: AccessDeps): string {
  return toTimestamp(deps.clock.nowMs())
}

/** Opens a tenant; the same again changes nothing. @throws DomainError `tenant_exists` */
export async function openTenant(
  deps: AccessDeps,
  input: { readonly tenantId?: string; readonly name: string },
): Promise<Changed & { readonly tenantId: string }> {
  const tenantId = input.tenantId ?? newId('tenant', deps.clock.nowMs())
  const { name } = input
  const changed = await changeAccount(deps, { kind: 'open', tenantId, name, at: now(deps) })
  return { tenantId, ...changed }
}

/** Adds a user. @throws DomainError `tenant_not_found`, `user_exists` */
export async function addUser(
  deps: AccessDeps,
  input: { readonly tenantId: string; readonly userId?: string; readonly name: string },
): Promise<Changed & { readonly userId: string }> {
  const userId = input.userId ?? newId('user', deps.clock.nowMs())
  const { tenantId, name } = input
  const changed = await changeAccount(deps, {
    kind: 'add-user',
    tenantId,
    userId,
    name,
    at: now(deps),
  })
  return { userId, ...changed }
}

/** Gives credit; a repeated grant id with the same figures changes nothing. */
export async function grantCredit(
  deps: AccessDeps,
  input: {
    readonly tenantId: string
    readonly grantId?: string
    readonly currency: Currency
    /** Positive decimal string. */
    readonly amount: string
    readonly reason: string
  },
): Promise<Changed & { readonly grantId: string }> {
  const grantId = input.grantId ?? newId('grant', deps.clock.nowMs())
  const changed = await changeAccount(deps, { kind: 'grant', ...input, grantId, at: now(deps) })
  return { grantId, ...changed }
}

/** Sets how far below zero a balance may go. */
export function setCreditLimit(
  deps: AccessDeps,
  input: { readonly tenantId: string; readonly currency: Currency; readonly limit: string },
): Promise<Changed> {
  return changeAccount(deps, { kind: 'set-limit', ...input, at: now(deps) })
}

/** A token's secret, shown this once and kept nowhere. */
export interface IssuedSecret extends Changed {
  readonly tokenId: string
  readonly secret: string
}

/** Issues a token. @throws DomainError of the token decider */
export async function issueToken(
  deps: AccessDeps,
  input: {
    readonly tenantId: string
    readonly userId: string
    readonly kind: TokenKind
    readonly name: string
    /** Of query tokens only. */
    readonly scope?: QueryScope
    readonly models?: readonly string[]
    /** Of model tokens only. */
    readonly limits?: TokenLimits
    /** RFC 3339. */
    readonly expiresAt?: string
  },
): Promise<IssuedSecret> {
  const tokenId = newId('token', deps.clock.nowMs())
  const secret = newSecret(tokenPrefixes[input.kind])
  const { models, ...facts } = input
  const changed = await changeToken(deps, tokenId, {
    kind: 'issue',
    data: {
      ...facts,
      ...(models === undefined ? {} : { models: [...models] }),
      tokenId,
      secretHash: sha256Hex(secret),
      lastFour: secret.slice(-4),
      issuedAt: now(deps),
    },
  })
  return { tokenId, secret, ...changed }
}

/** Gives a token a new secret; the old one stays valid for the overlap. */
export async function rotateToken(
  deps: AccessDeps,
  input: {
    readonly tokenId: string
    readonly kind: TokenKind
    readonly overlapMs: number
  },
): Promise<IssuedSecret> {
  const { tokenId, kind, overlapMs } = input
  const secret = newSecret(tokenPrefixes[kind])
  const nowMs = deps.clock.nowMs()
  const changed = await changeToken(deps, tokenId, {
    kind: 'rotate',
    tokenId,
    secretHash: sha256Hex(secret),
    lastFour: secret.slice(-4),
    oldValidUntil: toTimestamp(nowMs + overlapMs),
    at: toTimestamp(nowMs),
  })
  return { tokenId, secret, ...changed }
}

/** Changes what a token may use; the same again changes nothing. */
export function changeTokenLimits(
  deps: AccessDeps,
  input: { readonly tokenId: string; readonly changes: TokenLimitChanges },
): Promise<Changed> {
  return changeToken(deps, input.tokenId, { kind: 'change-limits', ...input, at: now(deps) })
}

/** Ends a token at once. */
export function disableToken(
  deps: AccessDeps,
  input: { readonly tokenId: string; readonly reason: string },
): Promise<Changed> {
  return changeToken(deps, input.tokenId, { kind: 'disable', ...input, at: now(deps) })
}
