import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import type { Principal } from '../../../app/access/principal.ts'
import { requireToken } from '../tokens/authenticate.ts'
import { type BodyBudget, useBodyBudget } from '../bodies/body-budget.ts'
import { useFingerprints } from '../bodies/body-fingerprint.ts'
import { type Envelope, useEnvelopes, useErrors } from '../envelope.ts'
import { type JsonBodyOptions, useJsonBody } from '../bodies/json-body.ts'
import { useKeptAnswers } from './idempotency.ts'
import { type LimitHeaders, limitHeadersOf, useLimitHeaders } from '../answers/answer-headers.ts'
import { withModelHint } from './models.ts'
import type { Services } from '../services.ts'
import { namesKnown, type Spellings } from '../bodies/typo-check.ts'
import type { RequestQuote } from '../../../app/finance/prices/tenant-prices.ts'
import type { JsonObject } from '../../../kernel/json.ts'

/** Prices the creations of a surface without making them. */

/** A creation that is asked about. */
interface AskedCreation {
  readonly principal: Principal
  /** Id of the quote's request; no creation uses it. */
  readonly requestId: string
  /** The path's value for its `{…}`; empty where it has none. */
  readonly part: string
  readonly body: JsonObject
}

/** A path whose creations can be priced. */
export interface QuotedPath {
  /** The path as callers write it, with at most one `{…}`. */
  readonly path: string
  /**
   * Checks the body as the creation would, and prices it. @throws what the creation throws for its
   * form
   */
  readonly quote: (asked: AskedCreation) => Promise<RequestQuote>
}

/** The value of `{…}` in a path; undefined if the path does not match. */
export function partOf(pattern: string, path: string): string | undefined {
  const [before = '', after] = pattern.split(/\{\w+\}/)
  if (after === undefined) return path === pattern ? '' : undefined
  const part = path.slice(before.length, path.length - after.length)
  const isOf = path.startsWith(before) && path.endsWith(after) && part.length > 0
  return isOf && before.length + after.length < path.length && !/[/:]/.test(part) ? part : undefined
}

/** A prefix, its error shape and the routes below it. */

/** A section of the OpenAPI description. */
export interface Tag {
  readonly name: string
  readonly description: string
}

/** A prefix with one error shape and one way of reading bodies. */
export interface Mount {
  readonly prefix: string
  /** Sections that its routes are described in; several mounts may have the same. */
  readonly tags?: readonly Tag[]
  /** Present if it answers only some URLs of a prefix that another mount has as well. */
  readonly owns?: (url: string) => boolean
  /**
   * The shape of failures, also for a URL without a route. Absent: that of the operating routes.
   */
  readonly envelopeOf?: (url: string) => Envelope
  /** The shape for a request that was read, if more is known by then. */
  readonly readEnvelopeOf?: (request: FastifyRequest) => Envelope
  /** Paths that clients of other services call, and the words that say what to use instead. */
  readonly notOffered?: readonly (readonly [path: RegExp, instead: string])[]
  /** The size of the largest body. */
  readonly bodyBytes: number
  readonly body?: JsonBodyOptions
  /** No token is asked for. */
  readonly isOpen?: true
  /** Headers that hold the bare token where there is no `Authorization`. */
  readonly keyHeaders?: readonly string[]
  /** Answers of calls are repeated under their `Idempotency-Key`. */
  readonly keepsAnswers?: true
  /** The headers in which answers show the caller's limits and the remaining amounts. */
  readonly reportsLimits?: LimitHeaders
}

/** The names of the members of a creation's body. */
export interface KnownBody {
  readonly schema: TSchema
  readonly spellings?: Spellings
}

/** Routes below a mount. */
export interface Surface {
  /** Several surfaces may share one. */
  readonly mount: Mount
  /** Paths by the names that the log and the ledger have for their requests. */
  readonly endpoints: Readonly<Record<string, string>>
  /**
   * Bodies of its creations. Other creations refuse the names of these members unless they have
   * them too.
   */
  readonly bodies: readonly KnownBody[]
  readonly register: (app: FastifyInstance, services: Services) => void | Promise<void>
  /** The creations that can be priced without being made. */
  readonly quotes?: (services: Services) => readonly QuotedPath[]
}

/** How surfaces of a mount send streams, which show the caller's limits if its other answers do. */
export function streamOptions(
  { reportsLimits }: Mount,
  { http, throttle }: Pick<Services, 'http' | 'throttle'>,
  request: FastifyRequest,
) {
  if (reportsLimits === undefined) return { limits: http.streams }
  return {
    limits: http.streams,
    headers: () => limitHeadersOf(request, throttle.statuses, reportsLimits),
  }
}

/** Names of all members that the creations of surfaces have. */
export function membersOf(surfaces: readonly Pick<Surface, 'bodies'>[]): readonly string[] {
  return surfaces.flatMap(({ bodies }) =>
    bodies.flatMap(({ schema, spellings }) => namesKnown(schema, spellings)),
  )
}

/** The mount that answers a URL. */
export function mountOf(mounts: readonly Mount[], url: string): Mount | undefined {
  const below = mounts.filter(
    ({ prefix }) => url.startsWith(prefix) && /^[/?#]|^$/.test(url.slice(prefix.length)),
  )
  return (
    below.find(({ owns }) => owns?.(url) === true) ?? below.find(({ owns }) => owns === undefined)
  )
}

/** Says what a caller can use instead of a URL that is not offered; undefined for any other URL. */
export function insteadOf(mounts: readonly Mount[], url: string): string | undefined {
  const { prefix = '', notOffered = [] } = mountOf(mounts, url) ?? {}
  const [path = ''] = url.slice(prefix.length).split('?', 1)
  return notOffered.find(([pattern]) => pattern.test(path))?.[1]
}

/** Applies a mount to everything below a plugin; `others` share its prefix. */
export function useMount(
  app: FastifyInstance,
  mount: Mount,
  others: readonly Mount[],
  services: Services,
  bounds: {
    readonly bodyBudget: BodyBudget
    /** The size of the largest body. */
    readonly bodyBytes: number
  },
): void {
  const { envelopeOf } = mount
  const { bodyBudget, bodyBytes } = bounds
  if (envelopeOf !== undefined) {
    const shapeOf = (request: FastifyRequest): Envelope => {
      // If several mounts share a prefix, one of them chooses the shape of unknown routes.
      const { readEnvelopeOf, envelopeOf: ofUrl } = mountOf(others, request.url) ?? mount
      const shape = readEnvelopeOf?.(request) ?? ofUrl?.(request.url) ?? envelopeOf(request.url)
      return (error, requestId) =>
        shape(withModelHint(services.models, request.principal, error), requestId)
    }
    if (mount.owns === undefined) useEnvelopes(app, shapeOf)
    else useErrors(app, shapeOf)
  }
  useBodyBudget(app, bodyBudget, bodyBytes)
  useFingerprints(app, services.support.fingerprintOf)
  useJsonBody(app, bodyBytes, { ...mount.body, mayBeCoded: true })
  if (mount.isOpen !== true) requireToken(app, services, 'model', mount.keyHeaders)
  if (mount.reportsLimits !== undefined)
    useLimitHeaders(app, services.throttle.statuses, mount.reportsLimits)
  if (mount.keepsAnswers === true) useKeptAnswers(app)
}
