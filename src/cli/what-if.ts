import type { Command } from 'commander'
import { readFile } from 'node:fs/promises'
import { currentPriceBook, priceBookVersion } from '../../projections/prices/query.ts'
import { bookOf } from '../app/finance/prices/publish.ts'
import { WhatIf, type WhatIfRow, type WhatIfTotal } from '../app/finance/prices/what-if.ts'
import { type PriceBook, priceBookFromPublished } from '../domain/pricing/price-book.ts'
import { catalog } from '../families/index.ts'
import { systemClock } from '../kernel/clock.ts'
import {
  CommandError,
  note,
  print,
  printPaced,
  progress,
  row,
  table,
  toJson,
  UsageError,
} from './output.ts'
import { parseTime } from './replay/moment.ts'
import type { Session } from './session.ts'
import { JSON_OPTION, onStores } from './command.ts'

const WHAT_IF_HELP = `
Prices the quantity of every settled line by the other book, per tenant and SKU. Each line keeps the tenant prices it
was settled by: a tenant's price of a SKU stays, and the multiplier applies to the other book. Lines that the other
book has no price for are reported, and the totals leave them out. Adjustments are not included.`

/** Registers `tollgate prices what-if`. */
export function addWhatIf(group: Command): void {
  group
    .command('what-if')
    .description('calculate what settled usage would have cost under another book; writes nothing')
    .requiredOption('--from <time>', 'settled from this RFC 3339 time, inclusive')
    .option('--to <time>', 'settled until this RFC 3339 time, exclusive; now by default')
    .option('--book <version or file>', 'the other book; default: the one in effect')
    .option('--tenant <id>', 'one tenant; default: all tenants')
    .option(...JSON_OPTION)
    .addHelpText('after', WHAT_IF_HELP)
    .action(onStores(whatIfCommand))
}

/** Rows of a table that are laid out together: of more the columns are as wide as those of the first. */
const LAID_OUT_ROWS = 1_000

interface WhatIfOptions {
  readonly from: string
  readonly to?: string
  readonly book?: string
  readonly tenant?: string
  readonly json?: boolean
}

/** `tollgate prices what-if`: writes nothing. */
async function whatIfCommand(session: Session, options: WhatIfOptions): Promise<void> {
  const fromMs = parseTime('--from', options.from)
  const toMs = options.to === undefined ? systemClock.nowMs() : parseTime('--to', options.to)
  if (toMs <= fromMs) throw new UsageError('--to must be later than --from')
  const book = await bookOfOption(session, options.book)
  if (!(await session.caughtUp('ledger')))
    note('the ledger is behind the log: the latest settlements are not in these figures')
  const shown = progress('lines')
  const whatIf = new WhatIf(session, {
    book,
    fromMs,
    toMs,
    tenantId: options.tenant,
    onProgress: (lines) => shown.update(lines),
  })
  try {
    await (options.json ? printJson : printTable)(whatIf, book.version, shown.end)
  } finally {
    shown.end()
  }
}

/** One document, written as it is found. */
async function printJson(whatIf: WhatIf, version: string, atRow: () => void): Promise<void> {
  let before = `{"book":${toJson(version)},"rows":[`
  for await (const found of whatIf.rows()) {
    atRow()
    await printPaced(`${before}${toJson(found)}`)
    before = ','
  }
  print(`${before.startsWith('{') ? before : ''}],"totals":${toJson(whatIf.totals())}}`)
}

const COLUMNS = [
  'tenant',
  'sku',
  'quantity',
  'unit',
  'currency',
  'recorded',
  'what if',
  'difference',
  'by',
]

async function printTable(whatIf: WhatIf, version: string, atRow: () => void): Promise<void> {
  let first: (readonly string[])[] | undefined = []
  let widths: readonly number[] = []
  const layOut = async (): Promise<void> => {
    if (first === undefined || first.length === 0) return
    const cells = [COLUMNS, ...first]
    widths = COLUMNS.map((_, i) => Math.max(...cells.map((line) => (line[i] ?? '').length)))
    for (const line of table(COLUMNS, first)) await printPaced(line)
    first = undefined
  }
  for await (const found of whatIf.rows()) {
    atRow()
    if (first === undefined) {
      await printPaced(row(cellsOf(found), widths))
      continue
    }
    first.push(cellsOf(found))
    if (first.length === LAID_OUT_ROWS) await layOut()
  }
  await layOut()
  const totals = whatIf.totals()
  if (totals.length === 0) print('there are no settlements in that time range')
  for (const total of totals) print(totalText(total, version))
  for (const { unpriced, currency } of totals)
    if (unpriced.lines > 0)
      print(
        `${currency}: ${unpriced.lines} lines of ${unpriced.recorded} have no price in ${version}; the totals leave them out`,
      )
}

function cellsOf(found: WhatIfRow): readonly string[] {
  return [
    found.tenantId,
    found.sku,
    found.quantity,
    found.unit,
    found.currency,
    found.recorded,
    found.whatIf ?? 'no price',
    found.difference ?? '',
    found.percent === null ? '' : `${found.percent} %`,
  ]
}

function totalText(total: WhatIfTotal, version: string): string {
  const { currency, lines, recorded, whatIf, difference, percent } = total
  const by = percent === null ? '' : ` (${percent} %)`
  return `${currency}: ${lines} lines, recorded ${recorded}, under ${version} ${whatIf}: difference ${difference}${by}`
}

/** A published version, else a file; without either the book in effect. @throws CommandError */
async function bookOfOption(
  { pool, caughtUp }: Session,
  named: string | undefined,
): Promise<PriceBook> {
  await caughtUp('prices')
  if (named === undefined) {
    const current = await currentPriceBook(pool, systemClock.nowMs())
    if (current !== undefined) return current
    throw new CommandError('no price book is in effect: name one with --book')
  }
  const published = await priceBookVersion(pool, named)
  if (published !== undefined) return published
  const yamlText = await readFile(named, 'utf8').catch(() => undefined)
  if (yamlText === undefined)
    throw new CommandError(`${named} is neither a published price book nor a file`)
  return priceBookFromPublished(bookOf(catalog, { yamlText, demonstrations: true }))
}
