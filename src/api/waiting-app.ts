import type { FastifyInstance } from 'fastify'
import { createMetricsRegistry } from '../app/metrics.ts'
import { type ApiOptions, createServer, defaultLimits } from './app.ts'
import type { ConnectionBounds } from './kit/bounds/connections.ts'
import { sendFailure, useEnvelope } from './kit/envelope.ts'
import { RequestError } from './kit/request-error.ts'
import type { Mount } from './kit/routes/surface.ts'
import type { Services } from './kit/services.ts'
import { operatingEnvelope } from './operating/envelope.ts'
import type { Health } from './operating/health.ts'
import { livenessPlugin, operatingPlugin } from './operating/plugin.ts'
import { envelopesOf } from './surfaces.ts'
import { v1 } from './v1/mount.ts'

interface WaitingDeps extends Pick<ApiOptions, 'logger'>, Pick<Services, 'clock'> {
  /** Prefixes of families. */
  readonly mounts: readonly Mount[]
  /** Undefined where readiness and metrics are on another port. */
  readonly health: Pick<Health, 'dependencies' | 'hindrances'> | undefined
  readonly connections: ConnectionBounds
}

/**
 * The server of a replica whose stores do not answer yet: it reports that it is alive, that it is
 * not ready and why, and answers 503 in the surface's shape to every other request. The caller
 * listens and closes.
 */
export async function buildWaitingApp({
  logger,
  clock,
  mounts,
  health,
  connections,
}: WaitingDeps): Promise<FastifyInstance> {
  // A kept connection would outlast the handover of the port.
  const limits = { ...defaultLimits, connections }
  const envelopeOf = envelopesOf([v1, ...mounts])
  const app = createServer({ logger, clock, leaving: () => true }, limits, envelopeOf)
  useEnvelope(app, operatingEnvelope)
  const answered = new Set(['/healthz', ...(health === undefined ? [] : ['/readyz', '/metrics'])])
  app.addHook('onRequest', async (request, reply) => {
    const [path = ''] = request.url.split('?')
    if (answered.has(path)) return
    const error = new RequestError('outage', 'The service is starting; nothing was started')
    await sendFailure(envelopeOf(request.url), error, request, reply)
  })
  await app.register(livenessPlugin())
  if (health !== undefined)
    await app.register(
      operatingPlugin({
        // Only metrics of any process: nothing has been sold yet, so every caller may read them.
        metrics: createMetricsRegistry(),
        guards: [],
        health: {
          ...health,
          projections: () => Promise.resolve([]),
          concerns: [],
          accepting: () => false,
        },
      }),
    )
  return app
}
