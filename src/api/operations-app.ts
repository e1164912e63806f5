import type { FastifyInstance } from 'fastify'
import { type ApiOptions, createServer, defaultLimits } from './app.ts'
import { useEnvelope, useUnknownRoutes } from './kit/envelope.ts'
import type { Services } from './kit/services.ts'
import { operatingEnvelope } from './operating/envelope.ts'
import { livenessPlugin, operatingPlugin, requireKnownHost } from './operating/plugin.ts'

/** Maximum number of connections of the port: probes and scrapers are few. */
export const OPERATIONS_CONNECTIONS = 64

/**
 * The operating routes on a separate port that API clients do not reach; the caller of this
 * function listens and closes.
 */
export async function buildOperationsApp(
  deps: Pick<ApiOptions, 'logger' | 'metrics' | 'health' | 'operationsHosts'> &
    Pick<Services, 'clock'>,
): Promise<FastifyInstance> {
  const { logger, clock } = deps
  const connections = {
    all: OPERATIONS_CONNECTIONS,
    perAddress: OPERATIONS_CONNECTIONS,
  }
  const limits = { ...defaultLimits, connections }
  const app = createServer({ logger, clock }, limits, () => operatingEnvelope)
  app.addHook('onRequest', requireKnownHost(deps.operationsHosts ?? []))
  useUnknownRoutes(app)
  useEnvelope(app, operatingEnvelope)
  await app.register(livenessPlugin())
  await app.register(operatingPlugin({ ...deps, guards: [] }))
  return app
}
