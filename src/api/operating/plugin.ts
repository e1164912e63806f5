import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { Type } from 'typebox'
import { readReadiness, type Health } from './health.ts'
import { useProjectionMetrics } from './projection-metrics.ts'

export interface OperatingDeps {
  readonly health: Health
  readonly metrics: Registry
}

const WelcomeSchema = Type.Object({
  name: Type.Literal('tollgate'),
  documentation: Type.String(),
  description: Type.String({ description: 'OpenAPI, for programs.' }),
  health: Type.Array(Type.String()),
})
const welcome = {
  name: 'tollgate' as const,
  documentation: '/docs',
  description: '/openapi.json',
  health: ['/healthz', '/readyz', '/metrics'],
}
const HealthSchema = Type.Object({ status: Type.Literal('ok') })
const ReadinessSchema = Type.Object({
  ready: Type.Boolean(),
  reasons: Type.Array(Type.String(), { description: 'Empty when ready.' }),
  degraded: Type.Array(Type.String(), {
    description:
      'What somebody must look at although it serves: `prices: …` names models it cannot sell.',
  }),
  dependencies: Type.Record(Type.String(), Type.Enum(['up', 'down'])),
  projections: Type.Array(
    Type.Object({
      name: Type.String(),
      position: Type.Optional(Type.String()),
      lagMs: Type.Number(),
      stopped: Type.Optional(Type.String()),
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
      },
      { description: 'Settlements that wait on local disk for the event log.' },
    ),
  ),
})

const tags = ['Operating']

/** Health, readiness, metrics: without a token, and without anything a stranger may not know. */
export function operatingPlugin(deps: OperatingDeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (app: FastifyInstance): Promise<void> => {
    useProjectionMetrics(deps.metrics, deps.health)
    app.addHook('onSend', async (_request, reply) => {
      void reply.header('cache-control', 'no-store')
    })
    app.get(
      '/',
      { schema: { tags, summary: 'Where to go from here', response: { 200: WelcomeSchema } } },
      () => welcome,
    )
    app.get(
      '/healthz',
      { schema: { tags, summary: 'The process is alive', response: { 200: HealthSchema } } },
      () => ({ status: 'ok' as const }),
    )
    app.get(
      '/readyz',
      {
        schema: {
          tags,
          summary: 'Every dependency answers and every projection keeps up',
          response: { 200: ReadinessSchema, 503: ReadinessSchema },
        },
      },
      async (_request, reply) => {
        const readiness = await readReadiness(deps.health)
        return reply.code(readiness.ready ? 200 : 503).send(readiness)
      },
    )
    app.get(
      '/metrics',
      { schema: { tags, summary: 'Prometheus metrics', produces: ['text/plain'] } },
      async (_request, reply) =>
        reply.type(deps.metrics.contentType).send(await deps.metrics.metrics()),
    )
  }
}
