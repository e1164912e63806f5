import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
} from 'fastify'
import { RepeatedAnswer } from '../../app/calls/claims/types.ts'
import { failureFields, isDomainError } from '../../kernel/errors.ts'
import { sendRepeated } from './routes/idempotency.ts'
import type { RefusedForms } from './bounds/refused-forms.ts'
import { bytesInWords, RequestError } from './request-error.ts'
import { usualRowOf } from './failures/surface-failures.ts'

/** The error shape of one surface. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/**
 * The one place where a surface turns a thrown value into its own error shape; never throws. The
 * request's id is for shapes that repeat it beside `x-request-id`.
 */
export type Envelope = (error: unknown, requestId: string) => Answer

/**
 * Answers a failure in the surface's shape. Where the gateway or a provider is at fault it is logged: a
 * known outcome as a warning, a defect as an error with its cause.
 */
export function sendFailure(
  envelope: Envelope,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const answer = envelope(error, request.id)
  request.failedWith = usualRowOf(error).status
  if (reply.raw.destroyed) request.countLeft?.(request.failedWith)
  else request.countRefusal?.(error)
  if (isLeft(error, reply)) request.log.info('the caller left before it was answered')
  else if (answer.status >= 500)
    request.log[isDomainError(error) ? 'warn' : 'error'](failureFields(error), 'request failed')
  // A reply that was meant to be audio, for example, may have set its type already.
  void reply.removeHeader('content-type')
  return reply.code(answer.status).headers(answer.headers).send(answer.body)
}

/** Whether a stream ended because its caller disconnected. */
function isLeft(error: unknown, { raw }: FastifyReply): boolean {
  if (!raw.destroyed || !(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** Gives everything below this plugin's prefix one envelope: errors, unknown routes, bad input. */
export function useEnvelope(app: FastifyInstance, envelope: Envelope): void {
  useEnvelopes(app, () => envelope)
}

/** Gives failures below a plugin the shape that `envelopeOf` chooses by the request. */
export function useEnvelopes(
  app: FastifyInstance,
  envelopeOf: (request: FastifyRequest) => Envelope,
): void {
  useErrors(app, envelopeOf)
  app.setNotFoundHandler((request, reply) =>
    sendFailure(envelopeOf(request), unknownRoute(request), request, reply),
  )
}

/**
 * Answers a request without a route before any other hook runs: it is the same 404 for every caller,
 * with any token, query or body. Hooks that are added later run for routes only. `notOffered` says of
 * a URL that clients of other services call what there is instead, also where its last word would be
 * the parameter of a route; `refusedForms` paces such requests by the caller's address.
 */
export function useUnknownRoutes(
  app: FastifyInstance,
  {
    notOffered,
    refusedForms,
  }: {
    readonly notOffered?: (url: string) => string | undefined
    readonly refusedForms?: Pick<RefusedForms, 'check'>
  } = {},
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { url: route = '', config } = request.routeOptions
    const { allow } = config
    const isServed = !request.is404 && allow === undefined
    if (isServed && !route.includes('/:')) return done()
    const instead = notOffered?.(request.url)
    if (isServed && instead === undefined) return done()
    const refused = refusedForms?.check(request)
    if (refused !== undefined) return void refused.catch(done)
    if (instead !== undefined) return done(new RequestError('not_offered', instead))
    if (allow === undefined) return done(unknownRoute(request))
    void reply.header('allow', allow)
    done(wrongMethod(request, allow))
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Names the methods that a path has, on a route for those that it lacks. */
    readonly allow?: string
  }
}

/** Methods whose absence from a known path is answered with 405. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/**
 * Remembers the path of every route that is added later. The returned function adds the methods that
 * each path lacks; `useUnknownRoutes` answers them, as a request without a route.
 */
export function useWrongMethods(
  app: FastifyInstance,
  envelopeOf: (url: string) => Envelope,
): () => void {
  const urls = new Set<string>()
  app.addHook('onRoute', ({ url }) => void urls.add(url))
  return () => {
    for (const url of urls) {
      const has = (method: HTTPMethods): boolean => app.hasRoute({ method, url })
      const method = METHODS.filter((one) => !has(one))
      if (method.length === 0) continue
      const allow = METHODS.filter(has).toSorted().join(', ')
      app.route({
        method,
        url,
        exposeHeadRoute: false,
        schema: { hide: true },
        config: { allow },
        errorHandler: (error, request, reply) => {
          void sendFailure(envelopeOf(request.url), error, request, reply)
        },
        handler: (request) => Promise.reject(wrongMethod(request, allow)),
      })
    }
  }
}

/** The most characters of a path that a refusal repeats. */
const MAX_SHOWN_CHARACTERS = 200

/** The query stays out: it may hold a credential. */
function pathOf({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?', 1)
  return path.length > MAX_SHOWN_CHARACTERS ? `${path.slice(0, MAX_SHOWN_CHARACTERS)}…` : path
}

function unknownRoute(request: FastifyRequest): RequestError {
  const message = `There is no such route: ${request.method} ${pathOf(request)}`
  return new RequestError('route_not_found', message)
}

function wrongMethod(request: FastifyRequest, allow: string): RequestError {
  const message = `${pathOf(request)} has no ${request.method}; it has ${allow}`
  return new RequestError('method_not_allowed', message)
}

/** For routes below the prefix of another plugin, which answers unknown routes. */
export function useErrors(
  app: FastifyInstance,
  envelopeOf: (request: FastifyRequest) => Envelope,
): void {
  app.setErrorHandler((error: FastifyError | RepeatedAnswer, request, reply) =>
    error instanceof RepeatedAnswer
      ? sendRepeated(reply, error)
      : sendFailure(envelopeOf(request), withBodyLimit(error, request), request, reply),
  )
}

/** The framework's refusal of a large body does not name the limit. */
function withBodyLimit(error: FastifyError, { routeOptions }: FastifyRequest): Error {
  const { bodyLimit } = routeOptions
  if (error.code !== 'FST_ERR_CTP_BODY_TOO_LARGE' || bodyLimit === undefined) return error
  return new RequestError(
    'body_too_large',
    `The request body is larger than ${bytesInWords(bodyLimit)}`,
  )
}
