import { Command } from 'commander'
import { exitCodeMeanings } from './exit-codes.ts'

/** Columns of the help where the terminal names no width, and of an exit code. */
const WIDTH = 80
const CODE_WIDTH = 2

/** Registers commands on the program. */
type Registration = (program: Command) => void

/**
 * The commands in the order that `--help` names them, by the file that registers them. A file has
 * what its commands do as well, so that it is loaded only for one of them, or for all help.
 */
const files: readonly (readonly [names: readonly string[], load: () => Promise<Registration>])[] = [
  [['serve'], async () => (await import('./serving.ts')).addServe],
  [['sandbox'], async () => (await import('./sandbox.ts')).addSandbox],
  [['config'], async () => (await import('./configuration.ts')).addConfig],
  [['marker-secret'], async () => (await import('./marker-secret.ts')).addMarkerSecret],
  [['migrate'], async () => (await import('./migrate.ts')).addMigrate],
  [['database'], async () => (await import('./database.ts')).addDatabase],
  [['replay'], async () => (await import('./replay/replay.ts')).addReplay],
  [['receipt'], async () => (await import('./receipt.ts')).addReceipt],
  [['ticket'], async () => (await import('./ticket.ts')).addTicket],
  [['note', 'poll', 'give-up'], async () => (await import('./notes.ts')).addNotes],
  [['find'], async () => (await import('./find.ts')).addFind],
  [['failures'], async () => (await import('./failures.ts')).addFailures],
  [['changes'], async () => (await import('./changes.ts')).addChanges],
  [['report'], async () => (await import('./report.ts')).addReport],
  [['verify'], async () => (await import('./verify/command.ts')).addVerify],
  [['export'], async () => (await import('./export.ts')).addExport],
  [['events'], async () => (await import('./events.ts')).addEvents],
  [['audit'], async () => (await import('./audit.ts')).addAudit],
  [['rebuild'], async () => (await import('./rebuild.ts')).addRebuild],
  [['verify-log', 'convert-log'], async () => (await import('./log-files.ts')).addLogFiles],
  [['backup'], async () => (await import('./backup.ts')).addBackup],
  [['close'], async () => (await import('./close-month.ts')).addClose],
  [['spool'], async () => (await import('./spool.ts')).addSpool],
  [['prices'], async () => (await import('./prices.ts')).addPrices],
  [['tenant'], async () => (await import('./tenants.ts')).addTenants],
  [['token'], async () => (await import('./tokens.ts')).addTokens],
  [['credit'], async () => (await import('./credit.ts')).addCredit],
  [['approvals'], async () => (await import('./approvals.ts')).addApprovals],
  [['budget'], async () => (await import('./budgets.ts')).addBudgets],
  [['limit'], async () => (await import('./limits.ts')).addLimits],
  [['balance-alert'], async () => (await import('./balance-alerts.ts')).addBalanceAlerts],
  [['reporting'], async () => (await import('./reporting.ts')).addReporting],
  [['void'], async () => (await import('./voids.ts')).addVoids],
  [['issuer'], async () => (await import('./issuer.ts')).addIssuer],
  [['billing'], async () => (await import('./billing.ts')).addBilling],
]

/** The exit codes as a section of the help. */
function exitCodesIn(command: Command): string {
  const help = command.createHelp()
  help.prepareContext({ helpWidth: command.configureOutput().getOutHelpWidth?.() ?? WIDTH })
  const rows = exitCodeMeanings.map(([code, meaning]) =>
    help.formatItem(String(code), CODE_WIDTH, meaning.replaceAll('`', ''), help),
  )
  return ['', 'Exit codes:', ...rows].join('\n')
}

/**
 * The command line, of the named command alone or of all of them; each command's `--help` explains
 * it. It ends by throwing, never the process.
 */
export async function createProgram(version: string, named?: string): Promise<Command> {
  const program = new Command('tollgate')
    .description('A gateway in front of AI model providers that treats every call as money.')
    .version(version)
    .showHelpAfterError()
    .exitOverride()
    .addHelpText('after', ({ command }) => exitCodesIn(command))
  const found = files.filter(([names]) => named !== undefined && names.includes(named))
  for (const [, load] of found.length === 0 ? files : found) (await load())(program)
  return program
}
