import type { Command } from 'commander'
import { changing, JSON_OPTION, onStores } from '../command.ts'

const tokens = () => import('../tokens.ts')

const LIMITS_HELP = `
A limit that was never named follows RATE_LIMIT_RPM, RATE_LIMIT_TPM, RATE_LIMIT_CONCURRENT_CALLS and
RATE_LIMIT_CONCURRENT_TASKS. A token's user and tenant may have limits of their own: tollgate limit.
A request beyond a limit gets 429 with Retry-After; it starts nothing and is not counted.`

/** Registers `tollgate token …`. */
export function addTokens(program: Command): void {
  const group = program.command('token').description('tokens; secrets are shown once')
  addIssue(group)
  addRotate(group)
  addLimit(group)
  addUpdate(group)
  addDisable(group)
  addList(group)
}

function addIssue(group: Command): void {
  changing(group.command('issue'))
    .description('issue a token')
    .requiredOption('--tenant <id>', 'tenant')
    .requiredOption('--user <id>', 'user')
    .requiredOption('--kind <kind>', 'model, profile, query or admin')
    .option('--name <name>', 'what it is for')
    .option(
      '--scope <level>',
      'of a query token: current_user, specified_users, all_users, all_tenants; of an admin token: all_users of its tenant, or all_tenants',
    )
    .option('--users <ids>', 'with specified_users: user ids, comma-separated')
    .option('--models <names>', 'only these models, comma-separated')
    .option('--addresses <ranges>', 'only from these addresses or ranges (CIDR), comma-separated')
    .option('--expires <time>', 'RFC 3339 time')
    .option('--rpm <n>', 'calls and task creations a minute; none: no limit')
    .option('--tpm <n>', 'text tokens a minute, in and out; none: no limit')
    .option('--concurrent-calls <n>', 'synchronous calls under way; none: no limit')
    .option('--concurrent-tasks <n>', 'tasks that have not ended; none: no limit')
    .addHelpText('after', LIMITS_HELP)
    .action(onStores(async () => (await tokens()).issueTokenCommand))
}

function addRotate(group: Command): void {
  changing(group.command('rotate'))
    .description('give a token a new secret; the old one stays valid for a while')
    .argument('<token id>')
    .option('--overlap <seconds>', 'how long the old secret stays valid', '3600')
    .action(onStores(async () => (await tokens()).rotateTokenCommand))
}

function addLimit(group: Command): void {
  changing(group.command('limit'))
    .description('change what a token may use, at once and everywhere; what is not named stays')
    .argument('<token id>')
    .option('--rpm <n>', 'calls and task creations a minute')
    .option('--tpm <n>', 'text tokens a minute, in and out')
    .option('--concurrent-calls <n>', 'synchronous calls under way')
    .option('--concurrent-tasks <n>', 'tasks that have not ended')
    .addHelpText(
      'after',
      `\n<n> is a number, "none" for no limit, or "default" for what the operator set.${LIMITS_HELP}`,
    )
    .action(onStores(async () => (await tokens()).limitTokenCommand))
}

function addUpdate(group: Command): void {
  changing(group.command('update'))
    .description('change what a token is called and bound to, at once; what is not named stays')
    .argument('<token id>')
    .option('--name <name>', 'what it is for')
    .option('--models <names>', 'only these models, comma-separated, or all')
    .option(
      '--addresses <ranges>',
      'only from these addresses or ranges (CIDR), comma-separated, or any',
    )
    .option('--expires <time>', 'RFC 3339 time, or never')
    .action(onStores(async () => (await tokens()).updateTokenCommand))
}

function addDisable(group: Command): void {
  changing(group.command('disable'))
    .description('end a token at once')
    .argument('<token id>')
    .option('--reason <text>', 'why', 'disabled by an operator')
    .option('--issued', 'what it issued too, and what those issued')
    .action(onStores(async () => (await tokens()).disableTokenCommand))
}

function addList(group: Command): void {
  group
    .command('list')
    .description('tokens of a tenant, without secrets')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await tokens()).listTokensCommand))
}
