import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { Type } from 'typebox'
import { LOOK_FOR_MS } from '../../app/read-models/read-models.ts'
import { isWithinRanges } from '../../kernel/address-ranges.ts'
import { memoizeFor } from '../../kernel/memoize.ts'
import { operatingShape } from './envelope.ts'
import { createReadiness, type Health } from './health.ts'
import { answer } from '../kit/documentation.ts'
import { RequestError } from '../kit/request-error.ts'
import { useProjectionMetrics } from './projection-metrics.ts'

interface OperatingDeps {
  readonly health: Health
  readonly metrics: Registry
  /** Whether callers reach the port too: then only this machine is shown the metrics. */
  readonly isPublic: boolean
}

/** Headers by which a proxy on this machine passes on a request from elsewhere. */
const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'] as const

/** Whether a request was sent by a program on this machine. */
function isFromHere({ headers, raw }: FastifyRequest): boolean {
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false
  const { remoteAddress } = raw.socket
  return remoteAddress !== undefined && isWithinRanges(remoteAddress, ['127.0.0.0/8', '::1'])
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
        const found = await readiness()
        return reply.code(found.ready ? 200 : 503).send(found)
      },
    )
    app.get(
      '/metrics',
      {
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
              what: 'On this port only programs on the same machine may read the metrics.',
            }),
          },
        },
      },
      async (request, reply) => {
        if (deps.isPublic && !isFromHere(request))
          throw new RequestError(
            'address_not_allowed',
            'On this port only programs on the same machine may read the metrics; set OPERATIONS_PORT to serve them on another port',
          )
        return reply.type(deps.metrics.contentType).send(await metrics())
      },
    )
  }
}
