import { Command } from 'commander'
import { addBalanceAlerts } from './groups/balance-alerts.ts'
import { addBudgets } from './groups/budgets.ts'
import { addCredit } from './groups/credit.ts'
import { addDatabase } from './groups/database.ts'
import { addHistory } from './groups/history.ts'
import { addLimits } from './groups/limits.ts'
import { addLogFiles } from './groups/log-files.ts'
import { addMarkerSecret } from './groups/marker-secret.ts'
import { addPrices } from './groups/prices.ts'
import { addReadModels } from './groups/read-models.ts'
import { addServing } from './groups/serving.ts'
import { addSpool } from './groups/spool.ts'
import { addTenants } from './groups/tenants.ts'
import { addTokens } from './groups/tokens.ts'

/** Groups of commands, in the order that `--help` names them; each registers its own. */
const groups: readonly ((program: Command) => void)[] = [
  addServing,
  addMarkerSecret,
  addDatabase,
  addHistory,
  addReadModels,
  addLogFiles,
  addSpool,
  addPrices,
  addTenants,
  addTokens,
  addCredit,
  addBudgets,
  addLimits,
  addBalanceAlerts,
]

/**
 * The whole command line; each command's `--help` explains it. It ends by throwing, never the
 * process.
 */
export function createProgram(version: string): Command {
  const program = new Command('tollgate')
    .description('A gateway in front of AI model providers that treats every call as money.')
    .version(version)
    .showHelpAfterError()
    .exitOverride()
  for (const add of groups) add(program)
  return program
}
