import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../../app/access/principal.ts'
import { sharerOf } from '../../../domain/token/sharer.ts'
import { isOperator } from '../../../domain/token/events.ts'
import type { Attempt } from '../../../app/spending/throttle/attempts.ts'
import type { FreeRequests } from '../../../app/spending/throttle/free-requests.ts'
import { runFor } from '../../../platform/sharer-context.ts'
import type { Sharer } from '../../../kernel/sharers.ts'
import { callerOf } from '../tokens/authenticate.ts'
import { REPLAYED } from '../routes/idempotency.ts'
import type { Services } from '../services.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The status of its failure, also where the wire of the surface answers it with 200. */
    failedWith: number | undefined
    /**
     * Counts the failure of a request whose caller has disconnected: it has no response that ends.
     */
    readonly countLeft?: (status: number) => void
    /** An attempt of the caller that it holds while it is under way. */
    attempt: Attempt | undefined
    /** Whether it was read whole and its work may have begun. */
    hasBegun: boolean
  }
  interface FastifyContextConfig {
    /** Marks a POST that counts as a read. */
    readonly startsNothing?: boolean
    /** Marks a POST that keeps something and is never billed; a function decides for each request. */
    readonly isFree?: boolean | ((request: FastifyRequest) => boolean)
    /** Marks a POST that keeps nothing and is never billed; other limits than those of calls apply to it. */
    readonly hasOwnLimits?: boolean
  }
}

/** The services that count the requests of a caller. */
interface PerCaller {
  readonly tokens: Pick<Services['tokens'], 'used'>
  readonly throttle: Pick<Services['throttle'], 'own' | 'free' | 'attempt'>
  readonly files: Pick<Services['files'], 'checkDisk'>
  readonly http: Pick<Services['http'], 'refusedForms'>
}

/** Counts requests against their user and tenant, and runs the following work in their context. */
export function usePerCaller(app: FastifyInstance, services: PerCaller): void {
  const {
    tokens,
    throttle: { free },
    http: { refusedForms },
  } = services
  app.decorateRequest('failedWith', undefined)
  app.decorateRequest('attempt', undefined)
  app.decorateRequest('hasBegun', false)
  app.decorateRequest('countLeft', function (this: FastifyRequest, status: number): void {
    const caller = callerOf(this)
    if (!isRefusal(status)) return
    if (!this.hasBegun) refusedForms.count(this)
    if (caller !== undefined && mayBeBilled(this, caller)) free.count(sharerOf(caller))
  })
  // Runs after the body is read, because reading it loses the async context.
  app.addHook('preHandler', (request, _reply, done) => {
    const caller = callerOf(request)
    if (caller === undefined) return done()
    request.hasBegun = true
    const begin = (): void => runFor(sharerOf(caller), done)
    let turn: Promise<void> | undefined
    try {
      turn = turnOf(services, request, caller)
    } catch (error) {
      return done(error as Error)
    }
    if (turn === undefined) begin()
    else turn.then(begin, done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const caller = callerOf(request)
    const status = request.failedWith ?? reply.statusCode
    if (!request.hasBegun && isRefusal(status)) refusedForms.count(request)
    if (!isRefusal(status) && status !== 429) request.attempt?.release()
    if (caller !== undefined) {
      tokens.used(caller.tokenId)
      const sharer = sharerOf(caller)
      if (mayBeBilled(request, caller)) countOutcome(free, sharer, status, reply)
      else if (isEnding(request, caller)) free.count(sharer)
    }
    done()
  })
}

/**
 * Resolves when a request may begin its work; undefined where it need not wait.
 * @throws DomainError `rate_limited`
 */
function turnOf(
  { throttle: { own, free, attempt }, files }: PerCaller,
  request: FastifyRequest,
  caller: Principal,
): Promise<void> | undefined {
  if (request.routeOptions.config.hasOwnLimits === true) return undefined
  if (caller.kind === 'model' && request.method === 'POST') request.attempt = attempt(caller)
  if (isFreeWrite(request, caller)) {
    const sharer = sharerOf(caller)
    const refused = free.begin(sharer)
    if (refused !== undefined) return refused
    free.count(sharer)
    return files.checkDisk?.()
  }
  const refused = mayBeBilled(request, caller) ? free.begin(sharerOf(caller)) : undefined
  if (refused !== undefined) return refused
  return caller.kind === 'model' && isOwnRequest(request) ? own(sharerOf(caller)) : undefined
}

/**
 * Whether a request stores data and is never billed: uploads and changes of accounts. Operators are
 * not counted. What disables or deletes is never refused for it: see `isEnding`.
 */
function isFreeWrite(request: FastifyRequest, caller: Principal): boolean {
  const {
    method,
    routeOptions: {
      config: { isFree = false },
    },
  } = request
  const { kind } = caller
  if (kind === 'model') return typeof isFree === 'boolean' ? isFree : isFree(request)
  if (isOperator(caller)) return false
  return kind !== 'query' && method !== 'GET' && method !== 'HEAD' && method !== 'DELETE'
}

/**
 * Whether it disables or deletes something of an account. It is counted, so that a loop of issuing
 * and disabling tokens has the pace of its issues, and not refused: a stolen token must end.
 */
function isEnding({ method }: FastifyRequest, caller: Principal): boolean {
  const { kind } = caller
  return method === 'DELETE' && (kind === 'profile' || kind === 'admin') && !isOperator(caller)
}

/** Whether it is a call or a creation. */
function mayBeBilled(
  { method, routeOptions: { config } }: FastifyRequest,
  { kind }: Principal,
): boolean {
  const isNeverBilled =
    config.isFree === true || config.startsNothing === true || config.hasOwnLimits === true
  return kind === 'model' && method === 'POST' && !isNeverBilled
}

/**
 * A refusal of the caller's input is not billed, and a repeated answer was billed before; at a
 * limit nothing was started.
 */
function countOutcome(
  free: FreeRequests,
  sharer: Sharer,
  status: number,
  reply: FastifyReply,
): void {
  if (status < 400 && !reply.hasHeader(REPLAYED)) free.served(sharer)
  if (isRefusal(status)) free.count(sharer)
}

/** Whether a status says that the caller sent something wrong. */
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && status !== 429

/** Whether a request only reads, deletes, or may repeat an earlier one. */
function isOwnRequest({ method, headers, routeOptions: { config } }: FastifyRequest): boolean {
  return (
    method !== 'POST' || config.startsNothing === true || headers['idempotency-key'] !== undefined
  )
}
