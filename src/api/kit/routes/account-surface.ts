import type { FastifyRequest, FastifySchema } from 'fastify'
import { type Static, type TSchema, Type } from 'typebox'
import type { Actor } from '../../../app/accounts/management.ts'
import { blockerCodes } from '../../../app/finance/statements/types.ts'
import { principalOf } from '../tokens/authenticate.ts'
import { answer, failureResponses } from './documentation.ts'
import type { Answer, Envelope } from '../envelope.ts'
import type { FailureCode } from '../failures/failure-table.ts'
import { nameOf } from './schema-names.ts'
import {
  type ReadFailure,
  retryHeaders,
  type SurfaceFailures,
} from '../failures/surface-failures.ts'

/** The shapes that all of `/api/*` shares: `{success, message, data}` and `{success, message, error}`. */

/** Why a month of an account cannot be closed. */
export const BlockerSchema = Type.Object(
  {
    code: Type.Enum([...blockerCodes]),
    message: Type.String({ examples: ['until 2027-01-04T00:00:00+08:00'] }),
    count: Type.Integer({ minimum: 0 }),
    href: Type.String({ description: 'The page of the console, or the command, that ends it.' }),
  },
  { named: 'Blocker' },
)

const ErrorSchema = Type.Object(
  {
    success: Type.Literal(false),
    message: Type.String(),
    error: Type.Object({
      code: Type.String(),
      param: Type.Optional(Type.String()),
      blockers: Type.Optional(
        Type.Array(BlockerSchema, { description: 'Everything that `period_blocked` is about.' }),
      ),
    }),
  },
  { named: 'AccountFailure' },
)

/** The error shape of `/api/*`: `{success: false, message, error: {code, param?, blockers?}}`. */
export function accountEnvelope(read: ReadFailure): Envelope {
  return (error): Answer => {
    const { status, code, message, param, retry, list } = read(error)
    const blockers = list('blockers')
    return {
      status,
      headers: {
        'cache-control': 'no-store',
        // A failure is JSON even if the caller asked for CSV.
        'content-type': 'application/json; charset=utf-8',
        ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
        ...retryHeaders(retry),
      },
      body: {
        success: false,
        message,
        error: {
          code,
          ...(param === undefined ? {} : { param }),
          ...(blockers === undefined ? {} : { blockers }),
        },
      },
    }
  }
}

/** A success in this shape; warnings name settings that the caller may not have intended. */
export function success<T>(data: T, warnings: readonly string[] = []) {
  return { success: true as const, message: warnings.join('; '), data }
}

/** The schema of a success. */
export function successOf<T extends ReturnType<typeof Type.Object>>(data: T) {
  const name = nameOf(Object(data))
  return Type.Object(
    { success: Type.Literal(true), message: Type.String(), data },
    { description: 'Success.', ...(name === undefined ? {} : { named: `${name}Answer` }) },
  )
}

/** Every unavailable dependency is reported the same way. */
const accountAway = {
  code: 'service_unavailable',
  words: 'The service cannot answer at the moment',
} as const

/** The names of the failures of every route on these surfaces. */
export const accountFailures = {
  route_not_found: 'not_found',
  method_not_allowed: 'method_not_allowed',
  url_invalid: 'invalid_request',
  headers_too_large: 'invalid_request',
  unauthenticated: 'unauthorized',
  wrong_token_kind: 'wrong_token_kind',
  role_denied: 'role_denied',
  address_not_allowed: 'address_not_allowed',
  tenant_closed: 'tenant_closed',
  body_empty: 'invalid_request',
  body_invalid: 'invalid_request',
  body_too_large: 'invalid_request',
  media_type_unsupported: 'invalid_request',
  parameter_invalid: 'invalid_request',
  outage: accountAway,
  internal: 'internal_error',
  rate_limited: 'rate_limited',
  log_unavailable: accountAway,
  database_unavailable: accountAway,
  read_model_behind: accountAway,
} as const satisfies SurfaceFailures

const csvText = 'CSV (RFC 4180) with a header line, where the request asks for CSV.'
const jsonLinesText = 'A line of JSON for each row of the table.'

export interface AccountRoute {
  readonly operationId: string
  readonly summary: string
  /** Absent where the answer is a file, or the request is never done at once. */
  readonly ok?: TSchema
  /** Answered with 202 instead, where the request is accepted and not done yet. */
  readonly accepted?: TSchema
  readonly failures: readonly FailureCode[]
  /** Whether the route answers a table too, as CSV and as lines of JSON. */
  readonly csv?: boolean
  /** Further files that it can be answered as: descriptions by media type. */
  readonly files?: Readonly<Record<string, string>>
}

/** Sections of routes, by the kind of token that opens them. */
const tags = {
  queryToken: 'Finance and support',
  profileToken: 'Account',
  adminToken: 'Administration',
} as const

/** The OpenAPI description of such a route, including its failures. */
export function describeAccount(
  envelope: Envelope,
  security: keyof typeof tags,
  { operationId, summary, ok, accepted, failures, csv = false, files = {} }: AccountRoute,
): FastifySchema {
  const shape = {
    envelope,
    schema: ErrorSchema,
    read: (body: unknown) => {
      const { error, message } = body as Static<typeof ErrorSchema>
      return { name: error.code, message }
    },
  }
  const table = {
    others: { 'text/csv': csvText, 'application/x-ndjson': jsonLinesText, ...files },
    headers: ['content-disposition', 'x-as-of'],
  } as const
  return {
    operationId,
    tags: [tags[security]],
    summary,
    security: [{ [security]: [] }],
    response: {
      ...((ok ?? Object.keys(files)[0]) && {
        200: answer({ ...(ok && { json: ok }), ...(csv ? table : { others: files }) }),
      }),
      ...(accepted && { 202: answer({ json: accepted }) }),
      ...failureResponses(shape, failures),
    },
  }
}

/** Format of the ids of accounts, users and tokens in requests. */

/** An id for something new: it becomes a part of a stream name. */
export const NewId = (description: string) =>
  Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
    words: 'must have 1 to 64 letters, digits, _ and -, and not begin with _ or -',
    description,
  })

/** An id of something that is there. */
export const KnownId = Type.String({
  pattern: '^[\\x21-\\x7e]{1,128}$',
  words: 'must have 1 to 128 ASCII characters, without blanks',
})

/** A month as a parameter; no tenant is older. */
export const MonthMember = Type.String({
  pattern: '^2\\d{3}-(?:0[1-9]|1[0-2])$',
  words: 'must be a year and a month, such as 2026-11',
  description: 'A month of the time zone of the tenant.',
  examples: ['2026-11'],
})

const CONTROLS = '\\x00-\\x1f\\x7f-\\x9f'
/**
 * Marks of direction, separators of lines and characters without a width: a name with them looks
 * like another one. The joiners of scripts and of emoji are not among them.
 */
const DIRECTIONS = '\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff'

/** One line of readable text: it has no hidden characters, and not only blanks. */
const line = (maxLength: number, description: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: `^(?=.*\\S)[^${CONTROLS}${DIRECTIONS}]*$`,
    words: `must be one line of 1 to ${maxLength} characters, none of them hidden`,
    description,
  })

export const DisplayName = line(128, 'One line of 1 to 128 characters.')

export const Reason = line(
  256,
  'Reason that readers of the ledger see: one line of 1 to 256 characters.',
)

/** Why something is changed, where that may be left out. */
export const ChangeReason = line(
  256,
  'Why: the list of changes shows it. One line of 1 to 256 characters.',
)

/** Shape of a person, by the token that was used. */
export const PersonSchema = Type.Object(
  { tenant_id: Type.String(), user_id: Type.String(), token_id: Type.String() },
  { named: 'Person' },
)

/** The actor of a change, for its events. */
export function actorOf(request: FastifyRequest): Actor {
  const { tenantId, userId, tokenId, role } = principalOf(request)
  return { tenantId, userId, tokenId, role, requestId: request.id }
}
