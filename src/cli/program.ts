import { Command } from 'commander'
import { describeConfig, loadConfig } from '../config.ts'
import { JSON_OPTION, onStores } from './groups/command.ts'
import { addCredit } from './groups/credit.ts'
import { addPrices } from './groups/prices.ts'
import { addTenants } from './groups/tenants.ts'
import { addTokens } from './groups/tokens.ts'
import { print } from './output.ts'

/** The whole command line; each command's `--help` teaches it. */
export function createProgram(version: string): Command {
  const program = new Command('tollgate')
    .description('A gateway in front of AI model providers that treats every call as money.')
    .version(version)
    .showHelpAfterError()
  program
    .command('serve')
    .description('run the gateway; with nothing configured, on embedded stores and the sandbox')
    .option('--role <list>', 'what this process does: api, projector, worker', undefined)
    .action(async (options: { role?: string }) => {
      const config = loadConfig(undefined, { serving: true })
      const { serve } = await import('./serve.ts')
      await serve(config, version, options.role)
    })
  program
    .command('sandbox')
    .description('run only the simulated providers; arguments are passed on to them')
    .allowUnknownOption()
    .argument('[args...]')
    .action(async (args: string[]) => (await import('./sandbox.ts')).runSandbox(args))
  program
    .command('config')
    .description('print the effective configuration, secrets masked')
    .action(() => {
      const shown = describeConfig()
      loadConfig(undefined, { serving: true })
      for (const [name, value] of Object.entries(shown)) print(`${name}=${value}`)
    })
  addHistory(program)
  addLedger(program)
  addPrices(program)
  addTenants(program)
  addTokens(program)
  addCredit(program)
  return program
}

function addHistory(program: Command): void {
  program
    .command('replay')
    .description('show what happened, from the log: every event of a task or a tenant')
    .option('--tenant <id>', 'events of this tenant')
    .option('--task <id>', 'events of this task (platform or native id)')
    .option('--from <time>', 'from this RFC 3339 time on')
    .option('--to <time>', 'before this RFC 3339 time')
    .option('--as-of <time or position>', 'the state as it was then instead of the events')
    .option(...JSON_OPTION)
    .action((options) =>
      onStores(async (s) => (await import('./replay/replay.ts')).replay(s, options)),
    )
  program
    .command('events')
    .description('print every event of the log as JSON lines')
    .option('--after <position>', 'only events after this position')
    .action((options) =>
      onStores(async (s) => (await import('./events.ts')).eventsCommand(s, options)),
    )
}

const AUDIT_HELP = `
Reads the log from its start, works out by itself what every row must be, and names each one that is not:
the table, its key, what the log says and what stands. It changes nothing and may run beside the gateway.

With --state <file> an audit goes on where the last one ended, or was stopped. The file holds how far
everything was found right, and the head of the hash chain there. Ledger lines audited before are checked
by their hashes, what came later by the log; earlier rows of other tables by a full audit only, which is one
without the file. Keep it where whoever can change the database cannot, and copy the head that is printed.

One cause is one finding: of an event that a read model never took in, the balances, totals and hashes that
lack it are not named again. "tollgate rebuild <name>" makes a read model anew from the log.`

const REBUILD_HELP = `
The live tables go on being read and written meanwhile. Both are compared at one position of the log: rows of
each table, totals side by side, and where lines or money differ the figures by tenant and SKU. Equal tables
are swapped; of different ones the live ones stay, the exit code is 1, and what to do is said.`

function addLedger(program: Command): void {
  program
    .command('audit')
    .description(
      'compare every row of every read model with the log; exit code 1 on any difference',
    )
    .option('--state <file>', 'go on where the audits that kept this file came to, and keep it')
    .option(...JSON_OPTION)
    .addHelpText('after', AUDIT_HELP)
    .action((options) =>
      onStores(async (s) => (await import('./audit.ts')).auditCommand(s, options)),
    )
  program
    .command('rebuild')
    .description('build a read model anew beside the live one, compare, swap')
    .argument('<name>', 'tasks, ledger, timeline, access or prices')
    .option('--force', 'swap even if what is live differs from what the log says')
    .option(...JSON_OPTION)
    .addHelpText('after', REBUILD_HELP)
    .action((name: string, options) =>
      onStores(async (s) => (await import('./rebuild.ts')).rebuildCommand(s, name, options)),
    )
}
