import { type Command, InvalidArgumentError } from 'commander'
import { readFile } from 'node:fs/promises'
import { currentPriceBook } from '../../projections/prices/query.ts'
import {
  accountPriceHistory,
  accountPricesOfFile,
  managedAccountPrices,
} from '../app/finance/prices/account-prices.ts'
import { readSetting } from '../app/accounts/settings.ts'
import { comparedPrices } from '../app/finance/prices/what-if.ts'
import { isListPrices, type WantedAccountPrices } from '../domain/account/prices.ts'
import type { AccountPrices } from '../domain/pricing/account-prices.ts'
import type { PriceEntry } from '../domain/pricing/events.ts'
import { priceBookDifference } from '../domain/pricing/price-book-difference.ts'
import { systemClock } from '../kernel/clock.ts'
import { canonicalPrice } from '../kernel/money.ts'
import { CommandError, print, table, toJson, UsageError } from './output.ts'
import { differenceLines, priceText } from './price-tables.ts'
import type { Session } from './session.ts'
import { changeSettingCommand, type OfTenant } from './settings.ts'
import { also, changingWithReason, JSON_OPTION, onStores } from './command.ts'

const SET_HELP = `
A file replaces all of the tenant's prices; the other options change some of them:

  tollgate prices account set --tenant tenant_acme --multiplier 0.85 \\
    --price domestic-video-2-0-720p-novideo=40

The multiplier does not apply to a price of the tenant. --price copies the unit and its number from the
tenant's price of that SKU or from the book in effect. If neither has the SKU, use a file:

  multiplier: '0.85'
  prices:
    - { sku: text-basic-output-token, currency: USD, unit: token, per: 1000000, price: '1.5' }

New prices apply to requests that are accepted from now on; earlier ones keep theirs. Where approvals are set, prices that
make anything cheaper for the tenant are only proposed, and another user approves them (tollgate approvals).`

/** Registers `tollgate prices account …`. */
export function addAccountPrices(prices: Command): void {
  const group = prices
    .command('account')
    .description('prices of a tenant that differ from the list')
  const command = (name: string): Command =>
    group.command(name).requiredOption('--tenant <id>', 'tenant')
  changingWithReason(command('set'))
    .description('multiply list prices, or set own prices of single SKUs')
    .option('--file <path>', 'file with all prices of the tenant; replaces those it had')
    .option('--multiplier <factor>', 'factor for list prices')
    .option('--no-multiplier', 'remove the multiplier')
    .option('--price <sku=price>', 'set a price of a SKU; may be repeated', priced, [])
    .option('--remove <sku>', "remove the tenant's price of a SKU; may be repeated", also, [])
    .option('--currency <code>', 'currency of --price and --remove, if a SKU has prices in both')
    .addHelpText('after', SET_HELP)
    .action(onStores(setAccountPricesCommand))
  changingWithReason(command('clear'))
    .description('remove all prices of the tenant, so that list prices apply')
    .action(onStores(clearAccountPricesCommand))
  command('show')
    .description('prices of a tenant that differ from the list')
    .option('--all', 'include every price of the book in effect')
    .option('--history', 'every change, with its actor')
    .option(...JSON_OPTION)
    .action(onStores(showAccountPricesCommand))
}

type Priced = readonly (readonly [sku: string, price: string])[]

function priced(text: string, before: Priced): Priced {
  const [sku = '', price = '', ...rest] = text.split('=')
  if (sku === '' || price === '' || rest.length > 0)
    throw new InvalidArgumentError('write it as <sku>=<price>, e.g. text-basic-output-token=1.5')
  return [...before, [sku, price]]
}

interface SetOptions extends OfTenant {
  readonly file?: string
  /** False: none from now on. */
  readonly multiplier?: string | boolean
  readonly price: readonly (readonly [sku: string, price: string])[]
  readonly remove: readonly string[]
  readonly currency?: string
}

/** `tollgate prices account set`: a file replaces all of them, the other options change some. */
async function setAccountPricesCommand(session: Session, options: SetOptions): Promise<void> {
  const { file } = options
  await set(session, options, (before) =>
    file === undefined ? changed(session, before, options) : fromFile(file, options),
  )
}

/** `tollgate prices account clear` */
async function clearAccountPricesCommand(session: Session, options: OfTenant): Promise<void> {
  await set(session, options, () => ({ prices: [] }))
}

/** `tollgate prices account show` */
async function showAccountPricesCommand(
  session: Session,
  options: OfTenant & { readonly all?: boolean; readonly history?: boolean },
): Promise<void> {
  if (options.history) return showHistory(session, options)
  const { log, pool } = session
  const prices = await readSetting({ log, db: pool }, options.tenant, 'prices')
  const book = await currentPriceBook(pool, systemClock.nowMs())
  const rows = comparedPrices(book, prices, options.all === true)
  const json = {
    tenantId: options.tenant,
    revision: prices.revision,
    multiplier: prices.multiplier ?? null,
    priceBookVersion: book?.version ?? null,
    prices: rows,
  }
  if (options.json) return print(toJson(json))
  print(summaryOf(options.tenant, prices))
  if (rows.length === 0) return
  const cells = rows.map(({ sku, currency, list, tenant, percent }) => [
    sku,
    currency,
    list === undefined ? '' : priceText(list),
    tenant === undefined ? 'no price' : priceText(tenant),
    percent === undefined ? '' : `${percent} %`,
  ])
  const of = book === undefined ? 'list' : `list ${book.version}`
  for (const line of table(['sku', 'currency', of, 'tenant', 'by'], cells)) print(line)
}

async function showHistory(session: Session, options: OfTenant): Promise<void> {
  const sets = await accountPriceHistory(session.log, options.tenant)
  if (options.json)
    return print(toJson(sets.map(({ data, metadata }) => ({ ...data, setBy: metadata.actor }))))
  const rows = sets.map(({ data, metadata }) => [
    String(data.revision),
    data.setAt,
    data.multiplier ?? '',
    String(data.prices.length),
    metadata.actor ?? '',
    data.reason ?? '',
  ])
  const columns = ['revision', 'set', 'multiplier', 'own prices', 'by', 'why']
  for (const line of table(columns, rows)) print(line)
}

function set(
  session: Session,
  options: OfTenant,
  next: (before: AccountPrices) => WantedAccountPrices | Promise<WantedAccountPrices>,
): Promise<void> {
  return changeSettingCommand(session, options, managedAccountPrices, {
    next,
    show: (after, before, isChanged) => {
      const { tenant: tenantId, json } = options
      const difference = priceBookDifference(before.prices, after.prices)
      if (json) {
        const { revision, multiplier = null } = after
        const base = { tenantId, revision, changed: isChanged, before: before.multiplier ?? null }
        return print(toJson({ ...base, multiplier, difference }))
      }
      print(summaryOf(tenantId, after))
      for (const line of differenceLines(difference)) print(line)
    },
  })
}

function summaryOf(tenantId: string, all: AccountPrices): string {
  const { revision, multiplier, prices } = all
  if (isListPrices(all)) return `${tenantId}: list prices`
  const factor = multiplier === undefined ? 'list prices' : `list prices × ${multiplier}`
  return `${tenantId}: ${factor}, ${prices.length} own ${prices.length === 1 ? 'price' : 'prices'} (revision ${revision})`
}

async function fromFile(path: string, options: SetOptions): Promise<WantedAccountPrices> {
  const { multiplier, price, remove } = options
  if (multiplier !== undefined || price.length > 0 || remove.length > 0)
    throw new UsageError(
      '--file has all prices: it cannot be combined with other options of prices',
    )
  return accountPricesOfFile(await readFile(path, 'utf8'))
}

async function changed(
  session: Session,
  before: AccountPrices,
  { multiplier, price, remove, currency }: SetOptions,
): Promise<WantedAccountPrices> {
  if (multiplier === undefined && price.length === 0 && remove.length === 0)
    throw new UsageError('give at least one of --file, --multiplier, --price and --remove')
  const book = price.length === 0 ? undefined : await currentBook(session)
  const prices = new Map(before.prices.map((entry) => [keyOf(entry), entry]))
  const inCurrency = (entry: PriceEntry): boolean =>
    currency === undefined || entry.currency === currency
  for (const sku of remove)
    prices.delete(keyOf(one(sku, before.prices.filter(inCurrency), 'the tenant has no price of')))
  for (const [sku, text] of price) {
    const own = [...prices.values()].filter((entry) => entry.sku === sku && inCurrency(entry))
    const known = own.length > 0 ? own : (book ?? []).filter(inCurrency)
    const like = one(sku, known, 'neither the tenant nor the book in effect has a price of')
    const { demonstration: _demonstration, ...entry } = like
    prices.set(keyOf(entry), { ...entry, price: priceOf(text) })
  }
  const factor = multiplier === undefined ? before.multiplier : multiplier
  return {
    prices: [...prices.values()],
    ...(typeof factor === 'string' ? { multiplier: factor } : {}),
  }
}

async function currentBook({ pool, caughtUp }: Session): Promise<readonly PriceEntry[]> {
  await caughtUp('prices')
  return (await currentPriceBook(pool, systemClock.nowMs()))?.entries ?? []
}

/** The one price of a SKU. @throws CommandError for none, or one in each currency */
function one(sku: string, entries: readonly PriceEntry[], none: string): PriceEntry {
  const [found, ...more] = entries.filter((entry) => entry.sku === sku)
  if (found === undefined) throw new CommandError(`${none} ${sku}`)
  if (more.length > 0)
    throw new CommandError(`${sku} has prices in both currencies: name one with --currency`)
  return found
}

/** @throws UsageError */
function priceOf(text: string): string {
  if (/^(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$/.test(text)) return canonicalPrice(text)
  throw new UsageError(
    `${text} is not a price: it must be a decimal of at most 9 digits and 6 decimals`,
  )
}

function keyOf({ sku, currency }: Pick<PriceEntry, 'sku' | 'currency'>): string {
  return `${currency} ${sku}`
}
