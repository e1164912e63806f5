import { isIP } from 'node:net'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import type { Registry } from 'prom-client'
import { Type } from 'typebox'
import { LOOK_FOR_MS } from '../../app/read-models/read-models.ts'
import { isWithinRanges } from '../../kernel/address-ranges.ts'
import { memoizeFor } from '../../platform/memoize.ts'
import { operatingShape } from './envelope.ts'
import { createReadiness, type Health } from './health.ts'
import { answer } from '../kit/routes/documentation.ts'
import { RequestError } from '../kit/request-error.ts'
import { useProjectionMetrics } from './projection-metrics.ts'
import { useReadinessMetrics } from './readiness-metrics.ts'

interface OperatingDeps {
  readonly health: Health
  readonly metrics: Registry
  /** Checks of a request for the metrics, on a port that callers reach too. */
  readonly guards: readonly onRequestHookHandler[]
}

/** Names by which every machine knows itself. */
const OWN_NAMES = ['localhost']

/** The host of a `Host` header, without its port and the brackets of IPv6; undefined if it is none. */
function hostOf(header: string): string | undefined {
  if (!URL.canParse(`http://${header}`)) return undefined
  return new URL(`http://${header}`).hostname.replace(/^\[(.*)\]$/, '$1')
}

/**
 * Refuses requests whose `Host` is a name that was not configured. A page of any site can let its own
 * name resolve to an address of this machine (DNS rebinding): the browser then reads answers for it,
 * and this header is all that shows it. A request without the header is from no browser.
 */
export function requireKnownHost(names: readonly string[]): onRequestHookHandler {
  const known = new Set([...OWN_NAMES, ...names])
  return ({ headers }, _reply, done) => {
    const host = headers.host === undefined ? 'localhost' : hostOf(headers.host)
    if (host !== undefined && (isIP(host) !== 0 || known.has(host))) return done()
    const shown = (headers.host ?? '').slice(0, 64)
    done(
      new RequestError(
        'address_not_allowed',
        `Host ${shown} is neither an IP address nor localhost; OPERATIONS_HOSTS names further ones`,
        'Host',
      ),
    )
  }
}

/** Headers by which a proxy on this machine passes on a request from elsewhere. */
const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'] as const

/** Refuses requests that were not sent by a program on this machine. */
export const requireThisMachine: onRequestHookHandler = ({ headers, raw }, _reply, done) => {
  const isForwarded = FORWARDED.some((name) => headers[name] !== undefined)
  const { remoteAddress } = raw.socket
  const isLocal =
    remoteAddress !== undefined && isWithinRanges(remoteAddress, ['127.0.0.0/8', '::1'])
  if (isLocal && !isForwarded) return done()
  done(
    new RequestError(
      'address_not_allowed',
      'On this port only programs on the same machine may read the metrics; set OPERATIONS_PORT to serve them on another port',
    ),
  )
}

const WelcomeSchema = Type.Object({
  name: Type.Literal('tollgate'),
  documentation: Type.String(),
  description: Type.String({ description: 'Path of the OpenAPI document.' }),
  health: Type.Array(Type.String()),
})
const HealthSchema = Type.Object({ status: Type.Literal('ok') })
const ReadinessSchema = Type.Object({
  ready: Type.Boolean(),
  reasons: Type.Array(Type.String(), {
    description: 'Why the process is not ready; empty when it is.',
  }),
  degraded: Type.Array(Type.String(), {
    description:
      'Problems that an operator must look at while the gateway serves. `prices: …`: models that cannot be sold. `read models: …`: read models that some routes cannot answer from. `spool: …`: settlements that wait too long, that the log permanently refused, or that the disk damaged. `disk: …`: a folder with too little space for its store, and how much it needs.',
  }),
  dependencies: Type.Record(Type.String(), Type.Enum(['up', 'down'])),
  projections: Type.Array(
    Type.Object({
      name: Type.String(),
      position: Type.Optional(Type.String()),
      lagMs: Type.Number(),
      stopped: Type.Optional(Type.String()),
      passedOver: Type.Integer(),
      rebuilding: Type.Boolean(),
    }),
  ),
  spool: Type.Optional(
    Type.Object(
      {
        batches: Type.Integer(),
        records: Type.Integer(),
        sizeBytes: Type.Integer(),
        maxBytes: Type.Integer(),
        ageMs: Type.Number(),
        fault: Type.Optional(Type.String()),
      },
      { description: 'Settlements on the local disk that wait for the event log.' },
    ),
  ),
  projector: Type.Optional(
    Type.Enum(['leads', 'follows', 'starting'], {
      description:
        'Of a process that only updates read models: `leads` while it does, `follows` while another one does.',
    }),
  ),
})

const tags = ['Operating']

function useNoStore(app: FastifyInstance): void {
  app.addHook('onSend', async (_request, reply) => {
    void reply.header('cache-control', 'no-store')
  })
}

/** The index of the routes; `probes` are those on this port. */
export function welcomePlugin(probes: readonly string[]) {
  const welcome = {
    name: 'tollgate' as const,
    documentation: '/docs',
    description: '/openapi.json',
    health: probes,
  }
  // oxlint-disable-next-line typescript/require-await -- Fastify recognises a plugin by it
  return async (app: FastifyInstance): Promise<void> => {
    useNoStore(app)
    app.get(
      '/',
      {
        schema: {
          operationId: 'getWelcome',
          tags,
          summary: 'Show where the documentation and the health checks are',
          response: { 200: answer({ json: WelcomeSchema }) },
        },
      },
      () => welcome,
    )
  }
}

/** Reports that the process is alive, even if a dependency is unavailable. */
export function livenessPlugin() {
  // oxlint-disable-next-line typescript/require-await -- Fastify recognises a plugin by it
  return async (app: FastifyInstance): Promise<void> => {
    useNoStore(app)
    app.get(
      '/healthz',
      {
        schema: {
          operationId: 'getHealth',
          tags,
          summary: 'Check that the process is alive',
          response: { 200: answer({ json: HealthSchema }) },
        },
      },
      () => ({ status: 'ok' as const }),
    )
  }
}

/** Readiness and metrics, without a token. Metrics show the operator's turnover and channels. */
export function operatingPlugin(deps: OperatingDeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify recognises a plugin by it
  return async (app: FastifyInstance): Promise<void> => {
    useProjectionMetrics(deps.metrics, deps.health)
    useNoStore(app)
    const readiness = createReadiness(deps.health)
    useReadinessMetrics(deps.metrics, readiness)
    const metrics = memoizeFor(LOOK_FOR_MS, () => deps.metrics.metrics())
    app.get(
      '/readyz',
      {
        schema: {
          operationId: 'getReadiness',
          tags,
          summary: 'Check whether new requests should be sent to this process',
          response: {
            200: answer({ json: ReadinessSchema }),
            503: answer({
              json: ReadinessSchema,
              what: 'The process is not ready and should get no new requests.',
            }),
          },
        },
      },
      async (_request, reply) => {
        const { problems: _forOperators, ...found } = await readiness()
        return reply.code(found.ready ? 200 : 503).send(found)
      },
    )
    app.get(
      '/metrics',
      {
        onRequest: [...deps.guards],
        schema: {
          operationId: 'getMetrics',
          tags,
          summary: 'Prometheus metrics',
          response: {
            200: answer({
              others: { 'text/plain': 'Metrics in the Prometheus exposition format.' },
            }),
            403: answer({
              json: operatingShape.schema,
              what: 'On this port only programs on the same machine may read the metrics, by an address or a known name.',
            }),
          },
        },
      },
      async (_request, reply) => {
        return reply.type(deps.metrics.contentType).send(await metrics())
      },
    )
  }
}
