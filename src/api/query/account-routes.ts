import type { FastifyInstance } from 'fastify'
import { balanceRoute } from './balance.ts'
import { changesRoute } from './changes.ts'
import { queryCreditRoutes } from './credits.ts'
import { failuresRoute } from './failures.ts'
import { holdsRoute } from './holds.ts'
import { livesRoute } from './lives/list.ts'
import { logsRoute } from './logs.ts'
import { movementsRoute } from './movements.ts'
import { refusalsRoute } from './refusals.ts'
import { repeatsRoute } from './repeats.ts'
import { searchRoute } from './search.ts'
import { speedRoute } from './speed.ts'
import type { QueryServices } from './services.ts'
import { tasksRoute } from './tasks.ts'
import { usageRoute } from './usage.ts'

/** Balances, credits, holds, logs, lives, changes, failures, refusals, repeats, search, speed, tasks and usage, for consoles. */
export function accountRoutes(app: FastifyInstance, services: QueryServices): void {
  balanceRoute(app, services)
  queryCreditRoutes(app, services)
  holdsRoute(app, services)
  movementsRoute(app, services)
  logsRoute(app, services)
  failuresRoute(app, services)
  livesRoute(app, services)
  changesRoute(app, services)
  refusalsRoute(app, services)
  repeatsRoute(app, services)
  searchRoute(app, services)
  speedRoute(app, services)
  tasksRoute(app, services)
  usageRoute(app, services)
}
