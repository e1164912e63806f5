import type { FastifyInstance } from 'fastify'
import type { AccountRouteDeps } from './account-deps.ts'
import { balanceRoute } from './balance.ts'
import { logsRoute } from './logs.ts'
import { tasksRoute } from './tasks.ts'
import { usageRoute } from './usage.ts'

/** Balances, logs, tasks and usage, for consoles. */
export function accountRoutes(app: FastifyInstance, deps: AccountRouteDeps): void {
  balanceRoute(app, deps)
  logsRoute(app, deps)
  tasksRoute(app, deps)
  usageRoute(app, deps)
}
