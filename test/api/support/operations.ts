import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { Registry } from 'prom-client'
import { buildOperationsApp } from '../../../src/api/operations-app.ts'
import type { Clock } from '../../../src/kernel/clock.ts'

/** The operations port of a gateway that depends on nothing and is ready. */
export function readyOperations({
  metrics = new Registry(),
  clock = { nowMs: () => 0 },
}: {
  readonly metrics?: Registry
  readonly clock?: Clock
} = {}): Promise<FastifyInstance> {
  return buildOperationsApp({
    logger: pino({ level: 'silent' }),
    clock,
    metrics,
    health: {
      dependencies: [],
      projections: () => Promise.resolve([]),
      concerns: [],
      accepting: () => true,
    },
  })
}
