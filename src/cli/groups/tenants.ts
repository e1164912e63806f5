import type { Command } from 'commander'
import { changing, JSON_OPTION, onStores } from '../command.ts'

const access = () => import('../tenants.ts')

/** Registers `tollgate tenant …`. */
export function addTenants(program: Command): void {
  const group = program.command('tenant').description('tenants')
  changing(group.command('open'))
    .description('open a tenant with its first user')
    .argument('<name>')
    .option('--id <id>', 'tenant id instead of a new one')
    .option('--user <name>', 'name of the first user')
    .action(onStores(async () => (await access()).openTenantCommand))
  group
    .command('list')
    .description('every tenant')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await access()).listTenantsCommand))
  changing(group.command('add-user'))
    .description('add a user to a tenant')
    .argument('<name>')
    .requiredOption('--tenant <id>', 'tenant')
    .option('--id <id>', 'user id instead of a new one: the same again changes nothing')
    .action(onStores(async () => (await access()).addUserCommand))
  group
    .command('users')
    .description('users of a tenant')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await access()).listUsersCommand))
}
