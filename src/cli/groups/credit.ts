import type { Command } from 'commander'
import { changing, JSON_OPTION, onStores } from '../command.ts'

const credit = () => import('../credit.ts')

const ADJUST_HELP = `
A positive amount gives to the tenant, a negative one takes an earlier adjustment back:

  tollgate credit adjust 1.50 --tenant tenant_acme --currency USD --line call_…:2 \\
    --reason 'the rendering was broken, ticket 4711'
  tollgate credit adjust -1.50 --tenant …

In the end a line costs something between nothing and what it was settled at, and a grant leaves
something between nothing and all of it: what goes further is refused. Line ids are those of the ledger
(line_id); the line itself stays, and what was adjusted is shown beside it.
The same command again posts nothing, so that it can be repeated when its answer was lost.`

/** Registers `tollgate credit …`. */
export function addCredit(program: Command): void {
  const group = program.command('credit').description('credit of a tenant')
  const command = (name: string): Command =>
    group.command(name).requiredOption('--tenant <id>', 'tenant')
  const ofMoney = (name: string): Command =>
    changing(command(name).requiredOption('--currency <code>', 'CNY or USD'))
  ofMoney('grant')
    .description('give credit')
    .argument('<amount>', 'a positive decimal')
    .option('--reason <text>', 'why', 'granted by an operator')
    .option('--id <id>', 'grant id: the same again changes nothing')
    .action(onStores(async () => (await credit()).grantCommand))
  ofMoney('limit')
    .description('how far below zero a balance may go')
    .argument('<amount>', 'a decimal, 0 for prepaid')
    .option('--id <id>', 'id of the setting: the same again changes nothing')
    .action(onStores(async () => (await credit()).limitCommand))
  ofMoney('adjust')
    .description('correct a settled line, or a grant, by an amount')
    .argument('<amount>', 'a decimal; positive gives to the tenant')
    .option('--line <id>', 'the ledger line it corrects')
    .option('--grant <id>', 'the grant it corrects: a negative amount takes it back')
    .requiredOption('--reason <text>', 'why, for readers of the ledger')
    .option('--id <id>', 'adjustment id instead of one made from the options')
    .addHelpText('after', ADJUST_HELP)
    .action(onStores(async () => (await credit()).adjustCommand))
  command('adjustments')
    .description('adjustments of a tenant, newest first')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await credit()).listAdjustmentsCommand))
  command('balance')
    .description('credit, settled, held and available per currency')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await credit()).balanceCommand))
}
