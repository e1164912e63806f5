import { type Command, InvalidArgumentError } from 'commander'
import { changing, JSON_OPTION, onStores } from '../command.ts'

const accountPrices = () => import('../account-prices.ts')

const SET_HELP = `
Either a file says all of the tenant's prices, or the other options change some of them:

  tollgate prices account set --tenant tenant_acme --multiplier 0.85 \\
    --price domestic-video-2-0-720p-novideo=40

A price of the tenant's own is not multiplied. --price takes the unit, and for how many it is, from the
tenant's own price of that SKU or from the book in effect; what neither of them has is set by a file:

  multiplier: '0.85'
  prices:
    - { sku: text-basic-output-token, currency: USD, unit: token, per: 1000000, price: '1.5' }

It counts for what is begun from then on; what was accepted before keeps its prices.`

/** Registers `tollgate prices account …`. */
export function addAccountPrices(prices: Command): void {
  const group = prices.command('account').description("a tenant's prices over those of the list")
  const command = (name: string): Command =>
    group.command(name).requiredOption('--tenant <id>', 'tenant')
  changing(command('set'))
    .description('multiply list prices, or set own prices of single SKUs')
    .option('--file <path>', 'all prices of the tenant, instead of those it had')
    .option('--multiplier <factor>', 'what list prices are multiplied by')
    .option('--no-multiplier', 'list prices as they are')
    .option('--price <sku=price>', 'own price of a SKU; may be repeated', priced, [])
    .option('--remove <sku>', 'the list price again for this SKU; may be repeated', also, [])
    .option('--currency <code>', 'of --price and --remove where a SKU has prices in both')
    .addHelpText('after', SET_HELP)
    .action(onStores(async () => (await accountPrices()).setAccountPricesCommand))
  changing(command('clear'))
    .description('list prices again, for everything')
    .action(onStores(async () => (await accountPrices()).clearAccountPricesCommand))
  command('show')
    .description('what a tenant pays other than the list says')
    .option('--all', 'every price of the book in effect as this tenant has it')
    .option('--history', 'each time they were set, by whom')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await accountPrices()).showAccountPricesCommand))
}

type Priced = readonly (readonly [sku: string, price: string])[]

function priced(text: string, before: Priced): Priced {
  const [sku = '', price = '', ...rest] = text.split('=')
  if (sku === '' || price === '' || rest.length > 0)
    throw new InvalidArgumentError('say it as <sku>=<price>, e.g. text-basic-output-token=1.5')
  return [...before, [sku, price]]
}

function also(text: string, before: readonly string[]): readonly string[] {
  return [...before, text]
}
