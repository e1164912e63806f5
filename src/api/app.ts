import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
} from 'fastify'
import type { Registry } from 'prom-client'
import type { Catalog } from '../domain/catalog/catalog.ts'
import { newRequestId } from '../kernel/ids.ts'
import { registerAccounts } from './accounts.ts'
import { createBodyBudget, MEMORY_PER_BYTE } from './kit/bodies/body-budget.ts'
import { type ConnectionBounds, useConnections } from './kit/bounds/connections.ts'
import { useLeaving } from './kit/bounds/drain.ts'
import {
  type Envelope,
  sendFailure,
  useEnvelope,
  useUnknownRoutes,
  useWrongMethods,
} from './kit/envelope.ts'
import { defaultStreamLimits, type StreamLimits } from './kit/answers/event-stream.ts'
import { foreignToCreations } from './kit/bodies/foreign-members.ts'
import { useForwardedAddresses } from './kit/bounds/forwarded-addresses.ts'
import { useHeadAnswers } from './kit/answers/head-answers.ts'
import { useObservation, useRequestLogs } from './kit/routes/observe.ts'
import type { Services } from './kit/services.ts'
import { insteadOf, membersOf, type Surface, useMount } from './kit/routes/surface.ts'
import type { FormLimits } from './kit/bodies/multipart.ts'
import { usePerCaller } from './kit/bounds/per-caller.ts'
import { useRefusals } from './kit/failures/refusals.ts'
import { createRefusedForms } from './kit/bounds/refused-forms.ts'
import { useWholeHeads, withoutHostCheck } from './kit/bounds/request-head.ts'
import {
  refusePipelined,
  refuseUnreadable,
  rememberExchange,
  unrequestedAnswer,
} from './kit/bounds/unreadable.ts'
import { strictValidator, useKnownQueries, useStorableParameters } from './kit/bodies/validator.ts'
import { type FindObject, objectsPlugin } from './objects/plugin.ts'
import { type DocumentationOptions, useDocumentation } from './operating/documentation.ts'
import { operatingEnvelope, operatingShape } from './operating/envelope.ts'
import type { Health } from './operating/health.ts'
import {
  livenessPlugin,
  operatingPlugin,
  requireKnownHost,
  requireThisMachine,
  welcomePlugin,
} from './operating/plugin.ts'
import type { Queries } from './query/services.ts'
import { ownReports } from './own-reports.ts'
import { envelopesOf, mountsOf, tagsOf } from './surfaces.ts'
import { statementKeysPlugin } from './statement-keys.ts'
import { v1Surfaces } from './v1/routes.ts'

/** The use cases that the HTTP interface is built over. */
export type GatewayServices = Omit<Services, 'http'> & { readonly queries: Queries }

/** How the HTTP interface serves. */
export interface ApiOptions extends DocumentationOptions {
  /** A pino logger, made with `logRedaction` of `kit/routes/observe.ts`. */
  readonly logger: FastifyBaseLogger
  /** Registry of the HTTP metrics, which `/metrics` shows. */
  readonly metrics: Registry
  /** Surfaces of the families. */
  readonly surfaces: readonly Surface[]
  readonly health: Health
  /** The gateway's own storage; undefined: the gateway serves no objects. */
  readonly objects?: FindObject | undefined
  /** Whether readiness and metrics are on a separate port (`buildOperationsApp`). */
  readonly operationsElsewhere?: boolean
  /** Names of `Host` by which operators may reach `/metrics`, besides addresses and localhost. */
  readonly operationsHosts?: readonly string[]
  /** Ranges of addresses whose `X-Forwarded-For` names the caller. */
  readonly trustedProxies?: readonly string[]
  /** True once the process is about to end: connections are then closed after each answer. */
  readonly leaving?: () => boolean
  readonly limits?: Partial<ApiLimits>
  readonly streamLimits?: Partial<StreamLimits>
}

/** The named bounds of the HTTP interface (P10). */
interface ApiLimits {
  /** The largest body below a prefix, if it differs from that of its mount. */
  readonly bodyBytes: Readonly<Record<string, number>>
  /** The bounds of a form with images. */
  readonly imageForm: FormLimits
  /** The largest uploaded file with its form fields. */
  readonly fileForm: FormLimits
  /**
   * The largest forwarded file with its form fields; the default allows the largest upload of the
   * catalog.
   */
  readonly mediaForm?: FormLimits
  /** Memory of all bodies that one process reads or works on at once, including copies. */
  readonly bodyMemoryBytes: number
  /** The longest silence within a large body. */
  readonly bodySilenceMs: number
  /** Connections to the port at once. */
  readonly connections: ConnectionBounds
  /** Request line and headers together. */
  readonly headerBytes: number
  /** For the first byte of a new connection to arrive. */
  readonly firstByteTimeoutMs: number
  /** For the headers of a request to arrive. */
  readonly headersTimeoutMs: number
  /** For a whole request to arrive. */
  readonly requestTimeoutMs: number
  /** For a body that no handler read to end after its answer. */
  readonly unreadTimeoutMs: number
  readonly keepAliveTimeoutMs: number
}

export const defaultLimits: ApiLimits = {
  bodyBytes: {},
  imageForm: {
    bodyBytes: 128 * 1024 * 1024,
    fileBytes: 50 * 1024 * 1024,
    files: 16,
    fields: 40,
    fieldBytes: 256 * 1024,
  },
  fileForm: {
    bodyBytes: 64 * 1024 * 1024 + 64 * 1024,
    fileBytes: 64 * 1024 * 1024,
    files: 1,
    fields: 8,
    fieldBytes: 1024,
  },
  bodyMemoryBytes: 8 * 64 * 1024 * 1024 * MEMORY_PER_BYTE.ascii,
  bodySilenceMs: 10_000,
  connections: { all: 10_000, perAddress: 2_500 },
  headerBytes: 16 * 1024,
  firstByteTimeoutMs: 10_000,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 120_000,
  unreadTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
}

function mediaFormOf({ maxUploadBytes }: Catalog): FormLimits {
  return {
    bodyBytes: maxUploadBytes + 64 * 1024,
    fileBytes: maxUploadBytes,
    files: 1,
    fields: 8,
    fieldBytes: 1024,
  }
}

/** A server without routes, whose failures have the shape of the requested URL. */
export function createServer(
  deps: Pick<ApiOptions, 'logger' | 'leaving' | 'trustedProxies'> &
    Partial<Pick<ApiOptions, 'metrics'>> &
    Pick<Services, 'clock'>,
  limits: ApiLimits,
  envelopeOf: (url: string) => Envelope,
): FastifyInstance {
  const newId = (): string => newRequestId(deps.clock.nowMs())
  const app = Fastify({
    loggerInstance: deps.logger,
    logController: new LogController({ disableRequestLogging: true }),
    // Never the caller's: the gateway makes the ids in its logs and events.
    requestIdHeader: false,
    // Proxies whose forwarded address is trusted: none, unless the operator configures them.
    trustProxy: [...(deps.trustedProxies ?? [])],
    genReqId: newId,
    bodyLimit: 1024 * 1024,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    http: {
      ...withoutHostCheck,
      maxHeaderSize: limits.headerBytes,
      headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
      // How often Node checks the two timeouts.
      connectionsCheckingInterval: Math.min(1_000, limits.requestTimeoutMs / 4),
    },
    forceCloseConnections: 'idle',
    // While draining, the gateway answers requests on open connections and then closes them.
    return503OnClosing: false,
    // Only the header limit bounds a parameter: an id of any length is "not found", never "not a
    // URL".
    routerOptions: { maxParamLength: limits.headerBytes },
    // The gateway's own parser refuses prototype keys in bodies and never drops them.
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    frameworkErrors: (error, request, reply) => {
      // The type of an unrouted request differs, but the members used here are the same.
      const failed = reply as unknown as FastifyReply
      void failed.header('x-request-id', request.id)
      void sendFailure(envelopeOf(request.raw.url ?? ''), error, request, failed)
    },
    clientErrorHandler: (error, socket) => {
      refuseUnreadable(error, socket, envelopeOf, newId())
    },
  })
  app.setValidatorCompiler(strictValidator)
  // Response schemas document; they neither drop nor convert what handlers answer.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  if ((deps.trustedProxies ?? []).length > 0) useForwardedAddresses(app)
  useRequestLogs(app)
  useStorableParameters(app)
  useConnections(app, {
    ...limits,
    bounds: limits.connections,
    trustedProxies: deps.trustedProxies ?? [],
    refusal: () => unrequestedAnswer(envelopeOf(''), newId()),
    refusePipelined: (...exchange) => refusePipelined(...exchange, envelopeOf, newId()),
    metrics: deps.metrics,
  })
  if (deps.leaving !== undefined) useLeaving(app, deps.leaving)
  app.addHook('onRequest', (request, reply, done) => {
    rememberExchange(request.raw, reply.raw)
    void reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
    done()
  })
  useWholeHeads(app)
  useHeadAnswers(app)
  return app
}

/** The services with what follows from the bounds and from all surfaces together. */
function withHttp(
  given: GatewayServices,
  surfaces: readonly Surface[],
  streamLimits: ApiOptions['streamLimits'],
  { imageForm, fileForm, mediaForm = mediaFormOf(given.models.catalog) }: ApiLimits,
) {
  const endpoints: Record<string, string> = Object.assign(
    {},
    ...surfaces.map((one) => one.endpoints),
  )
  const http: Services['http'] = {
    forms: { image: imageForm, file: fileForm, media: mediaForm },
    streams: { ...defaultStreamLimits, ...streamLimits },
    foreignMembers: foreignToCreations(membersOf(surfaces)),
    refusedForms: createRefusedForms(given.throttle.refusedForms),
    endpoints,
  }
  return { ...given, http }
}

/** Builds the HTTP interface; the caller listens and closes. */
export async function buildApp(
  given: GatewayServices,
  options: ApiOptions,
): Promise<FastifyInstance> {
  const { metrics, operationsElsewhere = false } = options
  const limits = { ...defaultLimits, ...options.limits }
  const surfaces: readonly Surface[] = [
    ...options.surfaces,
    ...v1Surfaces(given.models.catalog, (all) =>
      surfaces.flatMap(({ quotes }) => quotes?.(all) ?? []),
    ),
    ownReports(given.queries),
  ]
  const services = withHttp(given, surfaces, options.streamLimits, limits)
  const mounts = mountsOf(surfaces)
  const envelopeOf = envelopesOf(mounts)
  const app = createServer({ ...options, clock: given.clock }, limits, envelopeOf)
  useObservation(app, metrics)
  useUnknownRoutes(app, {
    notOffered: (url) => insteadOf(mounts, url),
    refusedForms: services.http.refusedForms,
  })
  const refuseWrongMethods = useWrongMethods(app, envelopeOf)
  usePerCaller(app, services)
  useRefusals(app, services)
  // Probes and scrapers may add any query parameter.
  useKnownQueries(app, (url) => envelopeOf(url) !== operatingEnvelope)
  useEnvelope(app, operatingEnvelope)
  await useDocumentation(app, options, tagsOf(mounts))
  const bodyBudget = createBodyBudget({
    limitBytes: limits.bodyMemoryBytes,
    silenceMs: limits.bodySilenceMs,
  })
  const probes = operationsElsewhere ? ['/healthz'] : ['/healthz', '/readyz', '/metrics']
  await app.register(welcomePlugin(probes))
  await app.register(livenessPlugin())
  await app.register(statementKeysPlugin(given.accounts))
  const guards = [requireThisMachine, requireKnownHost(options.operationsHosts ?? [])]
  if (!operationsElsewhere) await app.register(operatingPlugin({ ...options, guards }))
  if (options.objects !== undefined)
    await app.register(objectsPlugin(options.objects, operatingShape))
  for (const mount of mounts) {
    const { prefix } = mount
    const bodyBytes = limits.bodyBytes[prefix] ?? mount.bodyBytes
    const plugin = async (below: FastifyInstance): Promise<void> => {
      useMount(below, mount, mounts, services, { bodyBudget, bodyBytes })
      for (const surface of surfaces)
        if (surface.mount === mount) await surface.register(below, services)
    }
    await app.register(plugin, { prefix })
  }
  await registerAccounts(app, services)
  refuseWrongMethods()
  return app
}
