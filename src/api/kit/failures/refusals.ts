import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TokenOwner } from '../../../app/access/principal.ts'
import { isDomainError } from '../../../kernel/errors.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import { namesIn } from '../bodies/foreign-members.ts'
import { textDetail } from '../routes/observe.ts'
import { toRequestError } from '../request-error.ts'
import type { Services } from '../services.ts'
import { usualRowOf } from './surface-failures.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of the token it was sent with, once that is known: the token may have been refused. */
    tokenOwner: TokenOwner | undefined
    /** Counts the failure that the request is answered with. */
    readonly countRefusal?: (error: unknown) => void
  }
}

/** Stands for a name that the API does not declare: a caller may have written anything (P7). */
const FOREIGN_NAME = '*'
const MAX_PARAM_CHARACTERS = 128

/**
 * Counts every failed answer to a known token, for support. A count has nothing of a body: the member
 * at fault is kept only as far as the routes declare its name.
 */
export function useRefusals(
  app: FastifyInstance,
  { tokens }: { readonly tokens: Pick<Services['tokens'], 'refused'> },
): void {
  const declared = new Set<string>()
  app.addHook('onRoute', ({ schema }) => {
    const seen = new Set<unknown>()
    for (const part of [schema?.body, schema?.querystring, schema?.params])
      addNames(part, declared, seen)
  })
  app.decorateRequest('tokenOwner', undefined)
  app.decorateRequest('countRefusal', function (this: FastifyRequest, error: unknown): void {
    const { tokenOwner: token, method, routeOptions, id: requestId } = this
    if (token === undefined || routeOptions.url === undefined) return
    const { code } = usualRowOf(error)
    const given = isDomainError(error) ? textDetail(error, 'param') : toRequestError(error).param
    const param = given === undefined ? undefined : declaredPart(given, declared)
    const route = `${method} ${routeOptions.url}`
    tokens.refused({ token, route, code, requestId, param, why: limitWords(error) })
  })
}

/** The limit, budget or balance that refused a request, in the gateway's words, which name figures and no text of a caller. */
function limitWords(error: unknown): string | undefined {
  if (!isDomainError(error)) return undefined
  const { code, message } = error
  const isMoney = code === 'budget_reached' || code === 'insufficient_balance'
  const isLimit = code === 'rate_limited' && textDetail(error, 'limitedBy') !== undefined
  return isMoney || isLimit ? message : undefined
}

/** Adds the names of all members that a schema declares. */
function addNames(schema: unknown, names: Set<string>, seen: Set<unknown>): void {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return
  seen.add(schema)
  const { properties, knownExtraFields: further } = schema as Readonly<Record<string, unknown>>
  if (isJsonObject(properties)) for (const name of Object.keys(properties)) names.add(name)
  if (typeof further === 'string') for (const name of namesIn(further)) names.add(name)
  for (const inner of Object.values(schema)) addNames(inner, names, seen)
}

/** A path such as `messages/0/content` or `budgets[0].subject`, without names that are not declared. */
function declaredPart(param: string, declared: ReadonlySet<string>): string {
  return param
    .slice(0, MAX_PARAM_CHARACTERS)
    .replaceAll(/[^./[\]]+/g, (name) =>
      declared.has(name) || /^\d{1,6}$/.test(name) ? name : FOREIGN_NAME,
    )
}
