import type { Command } from 'commander'
import { changing, JSON_OPTION, onStores } from '../command.ts'

const limits = () => import('../limits.ts')

const SET_HELP = `
<n> is a number, or "none". All tokens of a user, and all users of a tenant, share their limits; those of a token are
its own (tollgate token limit). A request beyond one of them gets 429 with Retry-After; nothing is started.

  tollgate limit set --tenant tenant_acme --rpm 600 --concurrent-calls 50
  tollgate limit set --tenant tenant_acme --user user_ada --rpm 60 --concurrent-tasks 3`

/** Registers `tollgate limit …`. */
export function addLimits(program: Command): void {
  const group = program
    .command('limit')
    .description('how much a tenant or a user may ask at a time')
  const one = (name: string): Command =>
    changing(group.command(name))
      .requiredOption('--tenant <id>', 'tenant')
      .option('--user <id>', 'of a user, not of all the tenant')
  one('set')
    .description('set limits of a tenant or of a user; what is not named stays')
    .option('--rpm <n>', 'calls and task creations a minute')
    .option('--tpm <n>', 'text tokens a minute, in and out')
    .option('--concurrent-calls <n>', 'synchronous calls under way')
    .option('--concurrent-tasks <n>', 'tasks that have not ended')
    .addHelpText('after', SET_HELP)
    .action(onStores(async () => (await limits()).setLimitsCommand))
  one('remove')
    .description('remove all limits of a tenant or of a user; those of others stay')
    .action(onStores(async () => (await limits()).removeLimitsCommand))
  group
    .command('list')
    .description('limits of a tenant and of its users')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await limits()).listLimitsCommand))
}
