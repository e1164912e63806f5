import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../app/access/principal.ts'
import { isOperator } from '../../domain/token/events.ts'
import type { Attempt } from '../../app/spending/throttle/attempts.ts'
import type { FreeRequests } from '../../app/spending/throttle/free-requests.ts'
import { runForToken } from '../../kernel/token-context.ts'
import { callerOf } from './authenticate.ts'
import { REPLAYED } from './idempotency.ts'
import type { Services } from './services.ts'

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
  }
}

/** The throttle that counts the requests of a token. */
interface PerToken {
  readonly tokens: Pick<Services['tokens'], 'used'>
  readonly throttle: Pick<Services['throttle'], 'own' | 'free' | 'attempt'>
  readonly files: Pick<Services['files'], 'checkDisk'>
  readonly http: Pick<Services['http'], 'refusedForms'>
}

/** Counts requests against their token, and runs the following work in that token's context. */
export function usePerToken(app: FastifyInstance, services: PerToken): void {
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
    if (caller !== undefined && mayBeBilled(this, caller)) free.count(caller.tokenId)
  })
  // Runs after the body is read, because reading it loses the async context.
  app.addHook('preHandler', (request, _reply, done) => {
    const caller = callerOf(request)
    if (caller === undefined) return done()
    request.hasBegun = true
    const begin = (): void => runForToken(caller.tokenId, done)
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
      if (mayBeBilled(request, caller)) countOutcome(free, caller.tokenId, status, reply)
    }
    done()
  })
}

/**
 * Resolves when a request may begin its work; undefined where it need not wait.
 * @throws DomainError `rate_limited`
 */
function turnOf(
  { throttle: { own, free, attempt }, files }: PerToken,
  request: FastifyRequest,
  caller: Principal,
): Promise<void> | undefined {
  if (caller.kind === 'model' && request.method === 'POST') request.attempt = attempt(caller)
  if (isFreeWrite(request, caller)) {
    const refused = free.begin(caller.tokenId)
    if (refused !== undefined) return refused
    free.count(caller.tokenId)
    return files.checkDisk?.()
  }
  const refused = mayBeBilled(request, caller) ? free.begin(caller.tokenId) : undefined
  if (refused !== undefined) return refused
  return isOwnRequest(request) ? own(caller) : undefined
}

/**
 * Whether a request stores data and is never billed: uploads and changes of accounts. Operators are
 * not counted, and neither are requests that disable or delete.
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

/** Whether it is a call or a creation. */
function mayBeBilled(
  { method, routeOptions: { config } }: FastifyRequest,
  { kind }: Principal,
): boolean {
  const isNeverBilled = config.isFree === true || config.startsNothing === true
  return kind === 'model' && method === 'POST' && !isNeverBilled
}

/**
 * A refusal of the caller's input is not billed, and a repeated answer was billed before; at a
 * limit nothing was started.
 */
function countOutcome(
  free: FreeRequests,
  tokenId: string,
  status: number,
  reply: FastifyReply,
): void {
  if (status < 400 && !reply.hasHeader(REPLAYED)) free.served(tokenId)
  if (isRefusal(status)) free.count(tokenId)
}

/** Whether a status says that the caller sent something wrong. */
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && status !== 429

/** Whether a request only reads, deletes, or may repeat an earlier one. */
function isOwnRequest({ method, headers, routeOptions: { config } }: FastifyRequest): boolean {
  return (
    method !== 'POST' || config.startsNothing === true || headers['idempotency-key'] !== undefined
  )
}
