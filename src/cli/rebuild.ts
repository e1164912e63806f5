import { type Command, Option } from 'commander'
import { rebuildProjection, type RebuildComparison } from '../../projections/engine/rebuild.ts'
import type { Projection } from '../../projections/engine/types.ts'
import { allProjections, findProjection } from '../../projections/registry.ts'
import { formatAmount, parseAmount } from '../kernel/money.ts'
import { note, print, progress, table, toJson, UsageError } from './output.ts'
import type { Session } from './session.ts'
import { JSON_OPTION, ON_ANY_STORES, onStores } from './command.ts'

const REBUILD_HELP = `
The live tables stay in use meanwhile. Both are compared at one position of the log: the number of rows of each
table, totals side by side, and, if lines or money differ, the figures by tenant and SKU. Equal tables are swapped.
If they differ, the live tables stay, the exit code is 1, and the output says what to do.

With --check nothing is swapped: the rebuilt tables are dropped if they are equal, and the exit code is 0. Like an
audit it detects every difference between rows, but it reports only the table.`

/** Registers `tollgate rebuild`. */
export function addRebuild(program: Command): void {
  program
    .command('rebuild')
    .description('rebuild read models next to the live ones, compare and swap them')
    .argument(
      '<names...>',
      'of access, assets, files, ledger, prices, proposals, statements, tasks, timeline, voices',
    )
    .addOption(
      new Option('--check', 'only compare, do not swap; exit code 1 on any difference').conflicts(
        'force',
      ),
    )
    .option('--force', 'swap even if the live tables differ from the log')
    .option(...JSON_OPTION)
    .addHelpText('after', REBUILD_HELP)
    .action(onStores(rebuildCommand, ON_ANY_STORES))
}

interface RebuildOptions {
  readonly json?: boolean
  readonly force?: boolean
  readonly check?: boolean
}

/** `tollgate rebuild <names...>`, one after the other: exit code 1 when what is live differs from what the log says. */
async function rebuildCommand(
  session: Session,
  names: readonly string[],
  options: RebuildOptions,
): Promise<void> {
  const projections = names.map((name) => {
    const projection = findProjection(name)
    if (projection) return projection
    const known = allProjections.map((one) => one.name).join(', ')
    throw new UsageError(`no read model has the name ${name}; there are ${known}`)
  })
  for (const projection of projections) await rebuild(session, projection, options)
}

async function rebuild(
  session: Session,
  projection: Projection,
  options: RebuildOptions,
): Promise<void> {
  const { name } = projection
  const shown = progress('events applied')
  const result = await rebuildProjection({
    pool: session.pool,
    log: session.log,
    projection,
    onProgress: ({ events, phase }) => shown.update(events, phase),
    ...(options.force ? { force: true } : {}),
    ...(options.check ? { check: true } : {}),
  })
  shown.end()
  const { outcome, comparison, events } = result
  if (outcome === 'different') process.exitCode = 1
  if (options.json) print(toJson(result))
  else {
    if (comparison) for (const line of describe(comparison)) print(line)
    print(`${name}: ${outcome} after ${events} events`)
  }
  if (outcome === 'different') for (const line of advice(name)) note(line)
}

/** The tables side by side, then the totals, then where lines and money differ. */
function describe(comparison: RebuildComparison): readonly string[] {
  const { live, rebuilt, tables } = comparison
  if (typeof live === 'string') return [`the live tables cannot be read: ${live}`]
  const digests = Object.entries(rebuilt.tables).map(([name, { rows }]) => [
    name,
    String(live.tables[name]?.rows ?? 0),
    String(rows),
    tables.includes(name) ? 'differs' : 'equal',
  ])
  const names = new Set([...Object.keys(live.totals), ...Object.keys(rebuilt.totals)])
  const totals = [...names].map((name) => {
    const [before, after] = [live.totals[name] ?? '0', rebuilt.totals[name] ?? '0']
    return [name, before, after, difference(before, after)]
  })
  return [
    ...table(['table', 'live rows', 'rebuilt rows', ''], digests),
    ...(totals.length > 0 ? table(['total', 'live', 'rebuilt', 'difference'], totals) : []),
    ...describeDifferences(comparison),
  ]
}

function describeDifferences({
  differences = [],
  differencesInAll,
}: RebuildComparison): readonly string[] {
  if (differences.length === 0) return []
  const rows = differences.map(({ tenantId, sku, currency, live, rebuilt }) => [
    tenantId,
    sku,
    live.lines,
    rebuilt.lines,
    live.amount,
    rebuilt.amount,
    difference(live.amount, rebuilt.amount),
    currency,
  ])
  const more = differencesInAll - differences.length
  const columns = [
    'tenant',
    'sku',
    'live lines',
    'rebuilt',
    'live amount',
    'rebuilt',
    'difference',
    '',
  ]
  return [...table(columns, rows), ...(more > 0 ? [`… and ${more} more`] : [])]
}

/** What the rebuilt tables have more than the live ones; nothing where they have the same. */
function difference(live: string, rebuilt: string): string {
  const pico = parseAmount(rebuilt) - parseAmount(live)
  return pico === 0n ? '' : `${pico > 0n ? '+' : ''}${formatAmount(pico)}`
}

function advice(name: string): readonly string[] {
  return [
    `The live tables differ from the log; nothing was changed. The rebuilt tables, which follow the log, are in the schema ${name}_next.`,
    'To see which rows differ and since when: tollgate audit',
    `To put the rebuilt tables in place of the live ones: tollgate rebuild ${name} --force`,
    ...(name === 'ledger'
      ? [
          'Before that, note the differences above: amounts that were invoiced from the live ledger are wrong by them.',
        ]
      : []),
  ]
}
