import { Command } from 'commander'
import { describeConfig, loadConfig } from '../config.ts'
import { print } from './output.ts'
import type { Session } from './session.ts'

/** Runs a command on the stores. What a command is made of is loaded only when it is run. */
async function onStores(run: (session: Session) => Promise<void>): Promise<void> {
  const { withSession } = await import('./session.ts')
  await withSession(run)
}

const access = () => import('./access.ts')
const tokens = () => import('./tokens.ts')
const prices = () => import('./prices.ts')

const JSON_OPTION = ['--json', 'print JSON for machines'] as const

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
      const config = loadConfig()
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
      loadConfig()
      for (const [name, value] of Object.entries(shown)) print(`${name}=${value}`)
    })
  addHistory(program)
  addLedger(program)
  addPrices(program)
  addAccess(program)
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

function addPrices(program: Command): void {
  const books = program.command('prices').description('the price books')
  books
    .command('publish')
    .description('publish a price book file; the same book again changes nothing')
    .argument('<file>')
    .option('--demonstrations', 'keep entries marked as demonstrations')
    .action((file: string, options) =>
      onStores(async (s) => (await prices()).publishPricesCommand(s, file, options)),
    )
  books
    .command('list')
    .description('published price books, newest first')
    .option(...JSON_OPTION)
    .action((options) => onStores(async (s) => (await prices()).listPricesCommand(s, options)))
}

function addAccess(program: Command): void {
  const tenant = program.command('tenant').description('tenants')
  tenant
    .command('open')
    .description('open a tenant with its first user')
    .argument('<name>')
    .option('--id <id>', 'tenant id instead of a new one')
    .option('--user <name>', 'name of the first user')
    .option(...JSON_OPTION)
    .action((name: string, options) =>
      onStores(async (s) => (await access()).openTenantCommand(s, name, options)),
    )
  tenant
    .command('list')
    .description('every tenant')
    .option(...JSON_OPTION)
    .action((options) => onStores(async (s) => (await access()).listTenantsCommand(s, options)))
  tenant
    .command('add-user')
    .description('add a user to a tenant')
    .argument('<name>')
    .requiredOption('--tenant <id>', 'tenant')
    .option('--id <id>', 'user id instead of a new one: the same again changes nothing')
    .option(...JSON_OPTION)
    .action((name: string, options) =>
      onStores(async (s) => (await access()).addUserCommand(s, name, options)),
    )
  tenant
    .command('users')
    .description('users of a tenant')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action((options) => onStores(async (s) => (await access()).listUsersCommand(s, options)))
  addTokens(program)
  addCredit(program)
}

const LIMITS_HELP = `
A limit that was never named follows RATE_LIMIT_RPM, RATE_LIMIT_TPM and RATE_LIMIT_CONCURRENT_TASKS.
Whoever is at a limit is answered 429 with Retry-After; nothing is started and nothing counted then.`

function addTokens(program: Command): void {
  const token = program.command('token').description('tokens; secrets are shown once')
  token
    .command('issue')
    .description('issue a token')
    .requiredOption('--tenant <id>', 'tenant')
    .requiredOption('--user <id>', 'user')
    .requiredOption('--kind <kind>', 'model, profile, query or admin')
    .option('--name <name>', 'what it is for')
    .option(
      '--scope <level>',
      'of a query token: current_user, specified_users, all_users, all_tenants',
    )
    .option('--users <ids>', 'with specified_users: user ids, comma-separated')
    .option('--models <names>', 'only these models, comma-separated')
    .option('--expires <time>', 'RFC 3339 time')
    .option('--rpm <n>', 'text calls and task creations a minute; none: no limit')
    .option('--tpm <n>', 'text tokens a minute, in and out; none: no limit')
    .option('--concurrent-tasks <n>', 'tasks that have not ended; none: no limit')
    .addHelpText('after', LIMITS_HELP)
    .option(...JSON_OPTION)
    .action((options) => onStores(async (s) => (await tokens()).issueTokenCommand(s, options)))
  token
    .command('rotate')
    .description('give a token a new secret; the old one stays valid for a while')
    .argument('<token id>')
    .option('--overlap <seconds>', 'how long the old secret stays valid', '3600')
    .option(...JSON_OPTION)
    .action((id: string, options) =>
      onStores(async (s) => (await tokens()).rotateTokenCommand(s, id, options)),
    )
  token
    .command('limit')
    .description('change what a token may use, at once and everywhere; what is not named stays')
    .argument('<token id>')
    .option('--rpm <n>', 'text calls and task creations a minute')
    .option('--tpm <n>', 'text tokens a minute, in and out')
    .option('--concurrent-tasks <n>', 'tasks that have not ended')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `\n<n> is a number, "none" for no limit, or "default" for what the operator set.${LIMITS_HELP}`,
    )
    .action((id: string, options) =>
      onStores(async (s) => (await tokens()).limitTokenCommand(s, id, options)),
    )
  token
    .command('disable')
    .description('end a token at once')
    .argument('<token id>')
    .option('--reason <text>', 'why', 'disabled by an operator')
    .option(...JSON_OPTION)
    .action((id: string, options) =>
      onStores(async (s) => (await tokens()).disableTokenCommand(s, id, options)),
    )
  token
    .command('list')
    .description('tokens of a tenant, without secrets')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action((options) => onStores(async (s) => (await tokens()).listTokensCommand(s, options)))
}

function addCredit(program: Command): void {
  const credit = program.command('credit').description('credit of a tenant')
  credit
    .command('grant')
    .description('give credit')
    .argument('<amount>', 'a positive decimal')
    .requiredOption('--tenant <id>', 'tenant')
    .requiredOption('--currency <code>', 'CNY or USD')
    .option('--reason <text>', 'why', 'granted by an operator')
    .option('--id <id>', 'grant id: the same again changes nothing')
    .option(...JSON_OPTION)
    .action((amount: string, options) =>
      onStores(async (s) => (await access()).grantCommand(s, amount, options)),
    )
  credit
    .command('limit')
    .description('how far below zero a balance may go')
    .argument('<amount>', 'a decimal, 0 for prepaid')
    .requiredOption('--tenant <id>', 'tenant')
    .requiredOption('--currency <code>', 'CNY or USD')
    .option(...JSON_OPTION)
    .action((amount: string, options) =>
      onStores(async (s) => (await access()).limitCommand(s, amount, options)),
    )
  credit
    .command('balance')
    .description('credit, settled, held and available per currency')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action((options) => onStores(async (s) => (await access()).balanceCommand(s, options)))
}
