import { Type, type Static } from '@sinclair/typebox'
import { sortedMembers, type FactsOf } from '../event-facts.ts'

/** The kinds of tokens; each opens other paths. */
const TokenKindSchema = Type.Union([
  Type.Literal('model'),
  Type.Literal('profile'),
  Type.Literal('query'),
  Type.Literal('admin'),
])
export type TokenKind = Static<typeof TokenKindSchema>

/** Prefix of the secret of each kind. */
export const tokenPrefixes: Readonly<Record<TokenKind, string>> = {
  model: 'sk-',
  profile: 'pat-',
  query: 'qak-',
  admin: 'adm-',
}

/**
 * Scope of the reads of a query token, and of the management by an admin token: its tenant
 * (`all_users`) or all of them. Only operators issue tokens for all tenants (`all_tenants`).
 */
const QueryScopeSchema = Type.Union([
  Type.Object({ level: Type.Literal('current_user') }),
  Type.Object({ level: Type.Literal('specified_users'), userIds: Type.Array(Type.String()) }),
  Type.Object({ level: Type.Literal('all_users') }),
  Type.Object({ level: Type.Literal('all_tenants') }),
])
export type QueryScope = Static<typeof QueryScopeSchema>

/**
 * Role of a token, which narrows what it may do within its scope: each route declares the roles that
 * may use it.
 */
export const tokenRoles = ['finance', 'support'] as const
export type TokenRole = (typeof tokenRoles)[number]

/** Whether tokens of this kind may have a role. */
export function mayHaveRole(kind: TokenKind): boolean {
  return kind === 'query' || kind === 'admin'
}

/** Whether a token is an operator's: an admin token that is not bound to its tenant. */
export function isOperator(token: {
  readonly kind: TokenKind
  readonly scope: QueryScope | undefined
}): boolean {
  const { kind, scope } = token
  return kind === 'admin' && (scope === undefined || scope.level === 'all_tenants')
}

/** The highest figure a limit can have. */
export const MAX_TOKEN_LIMIT = 1_000_000_000

/** Null: no limit. Absent: the operator's default applies. */
const Limit = Type.Optional(
  Type.Union([Type.Integer({ minimum: 1, maximum: MAX_TOKEN_LIMIT }), Type.Null()]),
)

/** The limits that are set for this token. */
const TokenLimitsSchema = Type.Object({
  requestsPerMinute: Limit,
  /** Tokens of text, in and out. */
  tokensPerMinute: Limit,
  /** Synchronous calls that are under way. */
  concurrentCalls: Limit,
  /** Asynchronous tasks that have not ended. */
  concurrentTasks: Limit,
})
export type TokenLimits = Readonly<Static<typeof TokenLimitsSchema>>

const tokenMembers = {
  tokenId: Type.String(),
  /** SHA-256 of the secret, hex; the secret itself is shown once and kept nowhere (P7). */
  secretHash: Type.String(),
  /** The last four characters, for people to recognise a token. */
  lastFour: Type.String(),
}

/** Why it was done; absent: not said. */
const GivenReason = Type.Optional(Type.String())

/** Ranges of addresses (CIDR) it may be used from; absent means from anywhere. */
const Addresses = Type.Optional(Type.Array(Type.String()))

export const tokenEvents = {
  TokenIssued: Type.Object({
    ...tokenMembers,
    tenantId: Type.String(),
    userId: Type.String(),
    kind: TokenKindSchema,
    name: Type.String(),
    scope: Type.Optional(QueryScopeSchema),
    /** For query and admin tokens only; absent: everything within its scope. */
    role: Type.Optional(Type.Union(tokenRoles.map((role) => Type.Literal(role)))),
    /** The person, as the identity provider names them, who signs in to the console; no one has its secret. */
    subject: Type.Optional(Type.String()),
    /** The value of a claim by which the identity provider gives the subject its role; absent: an invitation. */
    claim: Type.Optional(Type.String()),
    /** External model names this token may use; absent means all. */
    models: Type.Optional(Type.Array(Type.String())),
    addresses: Addresses,
    expiresAt: Type.Optional(Type.String()),
    limits: Type.Optional(TokenLimitsSchema),
    /** The token that issued it; absent where a command of an operator did. */
    issuedBy: Type.Optional(Type.String()),
    issuedAt: Type.String(),
  }),
  /** A new secret; the old one stays valid until `oldValidUntil`. */
  TokenRotated: Type.Object({
    ...tokenMembers,
    oldValidUntil: Type.String(),
    /** The token that asked for it; absent in older events, and where a command of an operator did. */
    rotatedBy: Type.Optional(Type.String()),
    reason: GivenReason,
    rotatedAt: Type.String(),
  }),
  /** The limits of the token from now on, all of them. */
  TokenLimitsChanged: Type.Object({
    tokenId: Type.String(),
    limits: TokenLimitsSchema,
    reason: GivenReason,
    changedAt: Type.String(),
  }),
  /** The name of the token and all its bounds from now on, except the limits. */
  TokenUpdated: Type.Object({
    tokenId: Type.String(),
    name: Type.String(),
    /** Absent means all. */
    models: Type.Optional(Type.Array(Type.String())),
    addresses: Addresses,
    /** Absent means that it does not expire. */
    expiresAt: Type.Optional(Type.String()),
    reason: GivenReason,
    updatedAt: Type.String(),
  }),
  TokenDisabled: Type.Object({
    tokenId: Type.String(),
    reason: Type.String(),
    disabledAt: Type.String(),
  }),
} as const

const ofToken = (data: { readonly tokenId: string }): string => data.tokenId

export const tokenFacts: FactsOf<typeof tokenEvents> = {
  TokenIssued: {
    source: ofToken,
    at: (d) => d.issuedAt,
    begins: true,
    words: ({ kind, role, name, subject, claim, issuedBy }) =>
      [
        `${kind} token ${name}${role === undefined ? '' : ` of the role ${role}`}`,
        ...(subject === undefined ? [] : [`for sign-ins of ${subject}`]),
        ...(claim === undefined ? [] : [`by the claim ${claim}`]),
        ...(issuedBy === undefined ? [] : [`issued by ${issuedBy}`]),
      ].join(', '),
  },
  TokenRotated: {
    source: ofToken,
    at: (d) => d.rotatedAt,
    words: ({ oldValidUntil, rotatedBy }) =>
      `the old secret works until ${oldValidUntil}${rotatedBy === undefined ? '' : `, rotated by ${rotatedBy}`}`,
  },
  TokenLimitsChanged: {
    source: ofToken,
    at: (d) => d.changedAt,
    words: ({ limits }) =>
      sortedMembers(limits)
        .map(([name, limit]) => `${name} ${limit ?? 'unlimited'}`)
        .join(', '),
  },
  TokenUpdated: {
    source: ofToken,
    at: (d) => d.updatedAt,
    words: ({ name, models, addresses, expiresAt }) =>
      [
        name,
        models?.join(' ') ?? 'all models',
        ...(addresses === undefined ? [] : [`from ${addresses.join(' ')}`]),
        ...(expiresAt === undefined ? [] : [`until ${expiresAt}`]),
      ].join(', '),
  },
  TokenDisabled: { source: ofToken, at: (d) => d.disabledAt, words: (d) => d.reason },
}

type TokenEventType = keyof typeof tokenEvents
export type TokenEventData<T extends TokenEventType> = Static<(typeof tokenEvents)[T]>
export type TokenEvent = {
  readonly [T in TokenEventType]: { readonly type: T; readonly data: TokenEventData<T> }
}[TokenEventType]

/** Prefix of the names of these streams. */
export const tokenStreams = 'token-'

/** Name of the stream of one token. */
export function tokenStream(tokenId: string): string {
  return `${tokenStreams}${tokenId}`
}
