import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { NamedLabels } from '../../../domain/reporting-labels.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { RequestError } from '../request-error.ts'

/** Who or what a request was made for, as its caller names it. */

const TAGS = 'x-tollgate-tags'
const END_USER = 'x-tollgate-end-user'
/** Headers in which coding agents name their session: the tag `session`, unless a request names one. */
const AGENT_SESSIONS = [
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'x-session-affinity',
]

/** Headers of every request that may cost something, for the documentation. */
export const labelHeaders = {
  [TAGS]: Type.Optional(
    Type.String({
      description:
        'Tags for reports, `key=value` with semicolons between, values percent-encoded; instead of `metadata` or `labels`. Keys that the tenant has not declared are ignored.',
      examples: ['project=apollo; team=search'],
    }),
  ),
  [END_USER]: Type.Optional(
    Type.String({
      description:
        "The tenant's own id of its end user, percent-encoded; instead of `user` or `safety_identifier`.",
    }),
  ),
}

/**
 * The labels of a request, by its headers, else by the members of its body that mean the same at the
 * model services. @throws RequestError `parameter_invalid`
 */
export function labelsOf(
  { headers }: Pick<FastifyRequest, 'headers'>,
  body: JsonObject,
): { readonly labels?: NamedLabels } {
  const tags = withSession(tagsOf(headers[TAGS]) ?? tagsIn(body), sessionOf(headers))
  const endUser =
    endUserOf(headers[END_USER]) ?? body['user'] ?? body['safety_identifier'] ?? undefined
  if (tags === undefined && endUser === undefined) return {}
  return {
    labels: {
      ...(tags === undefined ? {} : { tags }),
      ...(endUser === undefined ? {} : { endUser }),
    },
  }
}

const SESSION = /^[\w-]{1,128}$/

/** An odd value counts as none: agents send the header with every request. */
function sessionOf(headers: FastifyRequest['headers']): string | undefined {
  for (const name of AGENT_SESSIONS) {
    const value = headers[name]
    if (typeof value === 'string' && SESSION.test(value)) return value
  }
  return undefined
}

function withSession(
  tags: JsonObject | undefined,
  session: string | undefined,
): JsonObject | undefined {
  return session === undefined ? tags : { session, ...tags }
}

function tagsIn(body: JsonObject): JsonObject | undefined {
  const tags = body['metadata'] ?? body['labels']
  return isJsonObject(tags) ? tags : undefined
}

function tagsOf(
  header: string | string[] | undefined,
): Readonly<Record<string, string>> | undefined {
  if (header === undefined) return undefined
  const tags = new Map<string, string>()
  for (const pair of String(header).split(';')) {
    const [, key, value] = /^ *([!-<>-~]+)=([!-+\--~]*) *$/.exec(pair) ?? []
    if (key === undefined || value === undefined || tags.has(key))
      throw invalid(TAGS, 'must be `key=value` with semicolons between, each key once')
    tags.set(key, decoded(TAGS, value))
  }
  return Object.fromEntries(tags)
}

const endUserOf = (header: string | string[] | undefined): string | undefined =>
  header === undefined ? undefined : decoded(END_USER, String(header))

/** Bytes beyond ASCII are of no known encoding: Node reads each as one character. */
const visible = /^[!-~]*$/

function decoded(header: string, text: string): string {
  if (!visible.test(text)) throw invalid(header, 'must be percent-encoded')
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid(header, 'has a `%` that is no percent-encoded character')
  }
}

function invalid(header: string, message: string): RequestError {
  return new RequestError('parameter_invalid', `${header} ${message}`, header)
}
