import { Command } from 'commander'
import { describeConfig, loadConfig } from '../config.ts'
import { JSON_OPTION, onStores } from './groups/command.ts'
import { addCredit } from './groups/credit.ts'
import { addPrices } from './groups/prices.ts'
import { addTenants } from './groups/tenants.ts'
import { addTokens } from './groups/tokens.ts'
import { print } from './output.ts'

const ledger = () => import('./ledger.ts')

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

function addLedger(program: Command): void {
  program
    .command('audit')
    .description(
      'recompute every ledger line from the log and compare; exit code 1 on any difference',
    )
    .option(...JSON_OPTION)
    .action((options) => onStores(async (s) => (await ledger()).auditCommand(s, options)))
  program
    .command('rebuild')
    .description('build a read model anew beside the live one, compare, swap')
    .argument('<name>', 'tasks, ledger, timeline, access or prices')
    .option('--force', 'swap even if what is live differs from what the log says')
    .option(...JSON_OPTION)
    .action((name: string, options) =>
      onStores(async (s) => (await ledger()).rebuildCommand(s, name, options)),
    )
}
