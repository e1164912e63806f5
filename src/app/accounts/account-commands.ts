import { accountDecider, type AccountCommand } from '../../domain/account/decider.ts'
import { accountStream } from '../../domain/account/events.ts'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import { tokenDecider, type TokenCommand } from '../../domain/token/decider.ts'
import {
  type QueryScope,
  type TokenKind,
  type TokenLimits,
  type TokenRole,
  tokenPrefixes,
  tokenStream,
} from '../../domain/token/events.ts'
import { subjectNamed } from '../../domain/token/subject.ts'
import { namedAddresses } from '../../domain/token/addresses.ts'
import type { Bounds } from '../../domain/token/bounds.ts'
import type { TokenChanges } from '../../domain/token/changes.ts'
import type { DefaultTokenLimits, TokenLimitChanges } from '../../domain/token/limits.ts'
import { accountBefore, type AccountSource, rememberAccount } from './account-state.ts'
import { executeCommand } from '../../eventlog/log/execute.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { type Clock, toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { newId, newSecret, sha256Hex } from '../../kernel/ids.ts'

/** Tenants, users and tokens through the log: for the first start and for operators. */

export interface AccountCommandDeps extends AccountSource {
  readonly log: EventLog
  readonly catalog: Catalog
  readonly clock: Clock
  /** Program that ran the command, recorded with the events, e.g. `cli` or `first-start`. */
  readonly correlationId: string
  /** Recorded as well: who requested it, a person's name or this program's. */
  readonly actor: string
}

/** The actor of changes that the program makes by itself. */
export const PROGRAM_ACTOR = 'tollgate'

/** The outcome of a command. */
export interface Changed {
  /** False when nothing had to change. */
  readonly changed: boolean
  /** Position in the log; undefined when nothing changed. */
  readonly position: bigint | undefined
}

/** Decides a command on a tenant's account. @throws DomainError of the account decider */
export async function changeAccount(
  deps: AccountCommandDeps,
  command: AccountCommand,
): Promise<Changed> {
  const { events, position } = await decideOnAccount(deps, command)
  return { changed: events.length > 0, position }
}

/** Runs a command and returns the account afterwards. @throws DomainError of the account decider */
export async function decideOnAccount(deps: AccountCommandDeps, command: AccountCommand) {
  const { tenantId } = command
  const { log } = deps
  const decided = await executeCommand({
    log,
    readBefore: await accountBefore(deps, tenantId),
    stream: accountStream(tenantId),
    decider: accountDecider,
    command,
    commandId: newId('cmd', deps.clock.nowMs()),
    metadata: { correlationId: deps.correlationId, actor: deps.actor, tenantId },
  })
  rememberAccount(deps, tenantId, decided)
  return decided
}

async function decideOnToken(
  deps: AccountCommandDeps,
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

/** External names, each once; an alias means its model, as in a call. */
export function namedModels(
  { catalog }: Pick<AccountCommandDeps, 'catalog'>,
  names: readonly string[],
): string[] {
  return [...new Set(names.map(catalog.externalModelName))]
}

function now(deps: AccountCommandDeps): string {
  return toTimestamp(deps.clock.nowMs())
}

/** Opens a tenant; a repetition changes nothing. @throws DomainError `tenant_exists` */
export async function openTenant(
  deps: AccountCommandDeps,
  input: { readonly tenantId?: string; readonly name: string },
): Promise<Changed & { readonly tenantId: string }> {
  const tenantId = input.tenantId ?? newId('tenant', deps.clock.nowMs())
  const { name } = input
  const changed = await changeAccount(deps, { kind: 'open', tenantId, name, at: now(deps) })
  return { tenantId, ...changed }
}

/** Adds a user. @throws DomainError `tenant_not_found`, `user_exists` */
export async function addUser(
  deps: AccountCommandDeps,
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

/** A token's secret: shown only once, and stored nowhere. */
export interface IssuedSecret extends Changed {
  readonly tokenId: string
  readonly secret: string
}

export interface IssueTokenInput {
  /** The id of the token; absent: a new one. */
  readonly tokenId?: string
  readonly tenantId: string
  readonly userId: string
  readonly kind: TokenKind
  readonly name: string
  /** For query and admin tokens only. */
  readonly scope?: QueryScope
  /** For query and admin tokens only, as a scope. */
  readonly role?: TokenRole
  /** The person who signs in by name, for query and admin tokens only: the secret is given to no one. */
  readonly subject?: string
  /** The value of a claim by which the identity provider gives the subject its role; absent: an invitation. */
  readonly claim?: string
  /** For model tokens only, like limits. */
  readonly models?: readonly string[]
  readonly limits?: TokenLimits
  /** Addresses and address ranges it may be used from, as the administrator wrote them. */
  readonly addresses?: readonly string[]
  /** RFC 3339. */
  readonly expiresAt?: string
  /** The token that issues it; absent for a command of an operator. */
  readonly issuedBy?: string
}

/** Issues a token. @throws DomainError of the token decider */
export async function issueToken(
  deps: AccountCommandDeps,
  input: IssueTokenInput,
): Promise<IssuedSecret> {
  const { tokenId = newId('token', deps.clock.nowMs()) } = input
  const secret = newSecret(tokenPrefixes[input.kind])
  const { models, addresses, subject, ...facts } = input
  const changed = await decideOnToken(deps, tokenId, {
    kind: 'issue',
    data: {
      ...facts,
      ...(subject === undefined ? {} : { subject: subjectNamed(subject) }),
      ...(models === undefined ? {} : { models: namedModels(deps, models) }),
      ...(addresses === undefined ? {} : { addresses: [...namedAddresses(addresses)] }),
      tokenId,
      secretHash: sha256Hex(secret),
      lastFour: secret.slice(-4),
      issuedAt: now(deps),
    },
  })
  return { tokenId, secret, ...changed }
}

/** The longest time that an old secret stays valid beside the new one. */
export const MAX_OVERLAP_MS = 30 * 24 * 60 * 60 * 1_000

/**
 * Gives a token a new secret; the old one stays valid for the overlap.
 * @throws DomainError of the token decider; `token_expiry_invalid` for too long an overlap
 */
export async function rotateToken(
  deps: AccountCommandDeps,
  input: {
    readonly tokenId: string
    readonly kind: TokenKind
    readonly overlapMs: number
    /** End of the secret that was looked at; absent: any. */
    readonly expectedLastFour?: string | undefined
    /** The token that asks; absent for a command of an operator. */
    readonly rotatedBy?: string
    /** Why; absent: not said. */
    readonly reason?: string | undefined
    /** The bounds of the token that asks; absent for a command of an operator. */
    readonly manager?: Bounds
  },
): Promise<IssuedSecret> {
  const { tokenId, kind, overlapMs, expectedLastFour, rotatedBy, reason, manager } = input
  if (overlapMs > MAX_OVERLAP_MS)
    throw new DomainError(
      'token_expiry_invalid',
      `the old secret may stay valid for at most ${MAX_OVERLAP_MS / 1_000} seconds`,
      { tokenId },
    )
  const secret = newSecret(tokenPrefixes[kind])
  const nowMs = deps.clock.nowMs()
  const changed = await decideOnToken(deps, tokenId, {
    kind: 'rotate',
    tokenId,
    secretHash: sha256Hex(secret),
    lastFour: secret.slice(-4),
    oldValidUntil: toTimestamp(nowMs + overlapMs),
    expectedLastFour,
    reason,
    ...(rotatedBy === undefined ? {} : { rotatedBy }),
    ...(manager === undefined ? {} : { manager }),
    at: toTimestamp(nowMs),
  })
  return { tokenId, secret, ...changed }
}

/**
 * Changes a token's name, bounds and permissions; a repetition changes nothing.
 * @throws DomainError of the token decider
 */
export function changeToken(
  deps: AccountCommandDeps,
  input: {
    readonly tokenId: string
    readonly changes: TokenChanges
    /** Why; absent: not said. */
    readonly reason?: string | undefined
    /** Set for a caller that may not widen it: the limits in force where the token has none. */
    readonly onlyNarrower?: DefaultTokenLimits
    /** The bounds of the token that asks; absent for a command of an operator. */
    readonly manager?: Bounds
  },
): Promise<Changed> {
  const { changes } = input
  const models = changes.models && namedModels(deps, changes.models)
  const addresses = changes.addresses && namedAddresses(changes.addresses)
  return decideOnToken(deps, input.tokenId, {
    kind: 'change',
    ...input,
    changes: {
      ...changes,
      ...(models === undefined ? {} : { models }),
      ...(addresses === undefined ? {} : { addresses }),
    },
    at: now(deps),
  })
}

/** Changes a token's limits; a repetition changes nothing. */
export function changeTokenLimits(
  deps: AccountCommandDeps,
  input: {
    readonly tokenId: string
    readonly changes: TokenLimitChanges
    readonly reason?: string | undefined
  },
): Promise<Changed> {
  const { tokenId, changes, reason } = input
  return changeToken(deps, { tokenId, changes: { limits: changes }, reason })
}

/** Disables a token, effective immediately. */
export function disableToken(
  deps: AccountCommandDeps,
  input: { readonly tokenId: string; readonly reason: string },
): Promise<Changed> {
  return decideOnToken(deps, input.tokenId, { kind: 'disable', ...input, at: now(deps) })
}
