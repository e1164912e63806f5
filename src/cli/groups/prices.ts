import type { Command } from 'commander'
import { addAccountPrices } from './account-prices.ts'
import { changing, JSON_OPTION, onStores } from '../command.ts'

const prices = () => import('../prices.ts')
const whatIf = () => import('../what-if.ts')

const PUBLISH_HELP = `
Shows what changes against the book that is in effect when this one begins, and which served models
it has no price for (CHANNELS_FILE says what is served). It is published at once unless it
  - lacks prices that are sold at now,
  - takes effect in the past, that is at once, or
  - never takes effect, because a book that begins later is in effect by then.
Then nothing is published and the exit code is 1; with --yes it is published all the same. A book that
another has replaced needs a new version to come back.`

const WHAT_IF_HELP = `
Rates the quantity of every settled line by the other book, per tenant and SKU. A tenant's prices stay
those each line was settled by: its own price of a SKU stays, its multiplier applies to the other book.
What the other book has no price for is named and counted in no total. Adjustments are not looked at.`

/** Registers `tollgate prices …`. */
export function addPrices(program: Command): void {
  const group = program.command('prices').description('the price books')
  changing(group.command('publish'))
    .description('publish a price book file; the same book again changes nothing')
    .argument('<file>')
    .option(
      '--demonstrations',
      'keep entries marked as demonstrations: only the sandbox sells at them',
    )
    .option('--yes', 'publish although prices are lost or change at once')
    .addHelpText('after', PUBLISH_HELP)
    .action(onStores(async () => (await prices()).publishPricesCommand))
  group
    .command('list')
    .description('published price books, the latest to begin first')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await prices()).listPricesCommand))
  group
    .command('show')
    .description('the prices of a published book')
    .argument('<version>')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await prices()).showPricesCommand))
  group
    .command('diff')
    .description('what changes from one published book to another')
    .argument('<version>')
    .argument('<other version>')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await prices()).diffPricesCommand))
  addAccountPrices(group)
  group
    .command('what-if')
    .description('what settled usage would have cost under another book; writes nothing')
    .requiredOption('--from <time>', 'settled from this RFC 3339 time on')
    .option('--to <time>', 'settled before this RFC 3339 time; now by default')
    .option('--book <version or file>', 'the other book; the one in effect unless named')
    .option('--tenant <id>', 'one tenant; every one unless named')
    .option(...JSON_OPTION)
    .addHelpText('after', WHAT_IF_HELP)
    .action(onStores(async () => (await whatIf()).whatIfCommand))
}
