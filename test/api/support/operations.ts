import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { Registry } from 'prom-client'
import { buildOperationsApp } from '../../../src/api/operations-app.ts'
import type { Clock } from '../../../src/kernel/clock.ts'

/** The operations port of a gateway that depends on nothing and is ready. */
export function readyOperations({
  metrics = new Registry(),
  clock = { nowMs: () => 0 },
  operationsHosts = [],
}: {
  readonly metrics?: Registry
  readonly clock?: Clock
  readonly operationsHosts?: readonly string[]
} = {}): Promise<FastifyInstance> {
  return buildOperationsApp({
    logger: pino({ level: 'silent' }),
    clock,
    metrics,
    operationsHosts,
    health: {
      dependencies: [],
      projections: () => Promise.resolve([]),
      concerns: [],
      accepting: () => true,
    },
  })
}
