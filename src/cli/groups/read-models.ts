import { Option, type Command } from 'commander'
import { JSON_OPTION, ON_ANY_STORES, onStores } from '../command.ts'

const AUDIT_HELP = `
Reads the log from its start, works out by itself what every row must be, and names each one that is not:
the table, its key, what the log says and what stands. It may run beside the gateway and changes nothing but
what /metrics tells of the last audit.

With --state <file> an audit goes on where the last one ended, or was stopped. The file holds how far
everything was found right, and the head of the hash chain there. Ledger lines audited before are checked
by their hashes, what came later by the log; earlier rows of other tables by a full audit only, which is one
without the file. Keep it where users of the database cannot change it, and copy the head that is printed.

One cause is one finding: of an event that a read model never took in, the balances, totals and hashes that
lack it are not named again. "tollgate rebuild <name>" makes a read model anew from the log.`

const REBUILD_HELP = `
The live tables go on being read and written meanwhile. Both are compared at one position of the log: rows of
each table, totals side by side, and where lines or money differ the figures by tenant and SKU. Equal tables
are swapped; of different ones the live ones stay, the exit code is 1, and the output says what to do.

With --check nothing is swapped: equal tables are dropped again and the exit code is 0. It finds every row that
differs in any way, like an audit, but names only the table.`

/** Registers `tollgate audit` and `tollgate rebuild`. */
export function addReadModels(program: Command): void {
  program
    .command('audit')
    .description(
      'compare every row of every read model with the log; exit code 1 on any difference',
    )
    .option('--state <file>', 'go on where the audits that kept this file came to, and keep it')
    .option(...JSON_OPTION)
    .addHelpText('after', AUDIT_HELP)
    .action(onStores(async () => (await import('../audit.ts')).auditCommand, ON_ANY_STORES))
  program
    .command('rebuild')
    .description('build read models anew beside the live ones, compare, swap')
    .argument('<names...>', 'of access, assets, files, ledger, prices, tasks, timeline, voices')
    .addOption(
      new Option('--check', 'compare only: swap nothing, exit code 1 on any difference').conflicts(
        'force',
      ),
    )
    .option('--force', 'swap even if what is live differs from what the log says')
    .option(...JSON_OPTION)
    .addHelpText('after', REBUILD_HELP)
    .action(onStores(async () => (await import('../rebuild.ts')).rebuildCommand, ON_ANY_STORES))
}
