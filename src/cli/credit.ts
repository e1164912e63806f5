import type { Command } from 'commander'
import { lineFacts } from '../../projections/ledger/query.ts'
import { grantCredit, postAdjustment, setCreditLimit } from '../app/accounts/credit.ts'
import { balancesOf } from '../app/finance/balances.ts'
import type { AdjustmentTarget } from '../domain/account/adjustments.ts'
import { adjustmentIdOf, newPostingId } from '../domain/account/posting-ids.ts'
import { creditKinds, reasonCodes, referenceShape } from '../domain/account/postings.ts'
import { currencies, type Currency, formatAmount } from '../kernel/money.ts'
import { CommandError, note, print, show, table, toJson, UsageError } from './output.ts'
import { addProposals, showProposed } from './proposals.ts'
import type { Session } from './session.ts'
import {
  type ActorOption,
  changing,
  depsOf,
  JSON_OPTION,
  onStores,
  oneOf,
  reasonOf,
} from './command.ts'

const ADJUST_HELP = `
A positive amount gives to the tenant, a negative one takes an earlier adjustment back:

  tollgate credit adjust 1.50 --tenant tenant_acme --currency USD --line call_…:2 \\
    --reason 'the rendering was broken, ticket 4711'
  tollgate credit adjust -1.50 --tenant …

After all adjustments a line must cost between zero and what it was settled at, and a grant must be worth between
zero and what was granted; an adjustment beyond that is refused. A line id is the line_id of the ledger. The line
itself is not changed; its adjustments are shown with it.
The same command again posts nothing, so it is safe to repeat it when its answer was lost. tollgate report adjustments
lists what was posted.`

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
    .option('--credit <kind>', 'paid (the default) or promotional')
    .option('--reference <text>', 'the invoice or payment that it stands for')
    .option('--id <id>', 'id of the grant: repeating it changes nothing')
    .action(onStores(grantCommand))
  ofMoney('limit')
    .description('how far below zero a balance may go')
    .argument('<amount>', 'a decimal, 0 for prepaid')
    .option('--reason <text>', 'why, for the list of changes')
    .option('--id <id>', 'id of the setting: repeating it changes nothing')
    .action(onStores(limitCommand))
  ofMoney('adjust')
    .description('adjust a settled line or a grant by an amount')
    .argument('<amount>', 'a decimal; positive gives to the tenant')
    .option('--line <id>', 'the ledger line it corrects')
    .option('--grant <id>', 'the grant it corrects: a negative amount takes it back')
    .requiredOption('--reason <text>', 'why, for readers of the ledger')
    .option('--code <word>', `why, for reports: ${reasonCodes.join(', ')}`)
    .option('--id <id>', 'adjustment id instead of one made from the options')
    .addHelpText('after', ADJUST_HELP)
    .action(onStores(adjustCommand))
  addProposals(command)
  command('balance')
    .description('credit, settled, held and available per currency')
    .option(...JSON_OPTION)
    .action(onStores(balanceCommand))
}

interface MoneyOptions extends ActorOption {
  readonly tenant: string
  readonly currency: string
  readonly json?: boolean
}

/** `tollgate credit grant` */
async function grantCommand(
  session: Session,
  amount: string,
  options: MoneyOptions & {
    readonly reason: string
    readonly credit?: string
    readonly reference?: string
    readonly id?: string
  },
): Promise<void> {
  const deps = depsOf(session, options)
  const currency = currencyOf(options.currency)
  const grantId = namedId(options.id) ?? newPostingId('grant', deps.clock.nowMs())
  noteId(grantId)
  const { tenant: tenantId, reason, reference } = options
  const credit = oneOf('--credit', creditKinds, options.credit)
  if (reference !== undefined && !referenceShape.test(reference))
    throw new UsageError('--reference must be 1 to 128 printable ASCII characters')
  const terms = { tenantId, grantId, currency, amount, reason, credit, reference }
  const { position, proposal } = await grantCredit(deps, terms)
  if (proposal !== undefined) return showProposed(session, options, { grantId }, proposal, position)
  show({ grantId }, options.json)
  await session.projected('ledger', position)
}

/** `tollgate credit limit` */
async function limitCommand(
  session: Session,
  limit: string,
  options: MoneyOptions & { readonly reason?: string; readonly id?: string },
): Promise<void> {
  const deps = depsOf(session, options)
  const currency = currencyOf(options.currency)
  const limitId = namedId(options.id) ?? newPostingId('limit', deps.clock.nowMs())
  noteId(limitId)
  const terms = { tenantId: options.tenant, limitId, currency, limit, reason: reasonOf(options) }
  const done = await setCreditLimit(deps, terms)
  const { changed, position, proposal } = done
  if (proposal !== undefined) return showProposed(session, options, { limitId }, proposal, position)
  show({ tenantId: options.tenant, currency, limit, limitId }, options.json)
  if (!changed) note('this id was already set; a later limit stays in effect')
  await session.projected('ledger', position)
}

/** `tollgate credit adjust`: repeated with the same arguments it posts nothing. */
async function adjustCommand(
  session: Session,
  amount: string,
  options: MoneyOptions & {
    readonly line?: string
    readonly grant?: string
    readonly reason: string
    readonly code?: string
    readonly id?: string
  },
): Promise<void> {
  const reason = options.reason.trim()
  if (reason === '') throw new UsageError('--reason must not be empty')
  const terms = {
    tenantId: options.tenant,
    currency: currencyOf(options.currency),
    amount,
    correction: await correctionOf(session, options),
    reason,
  }
  const adjustmentId = namedId(options.id) ?? adjustmentIdOf(terms)
  noteId(adjustmentId)
  const code = oneOf('--code', reasonCodes, options.code)
  const adjustment = { ...terms, adjustmentId, code }
  const done = await postAdjustment(depsOf(session, options), adjustment)
  const { changed, position, proposal } = done
  if (proposal !== undefined)
    return showProposed(session, options, { adjustmentId }, proposal, position)
  show({ adjustmentId, posted: changed }, options.json)
  if (!changed)
    note('this adjustment was already posted; use --id with a new id to post another one')
  await session.projected('ledger', position)
}

/** `tollgate credit balance` */
async function balanceCommand(
  session: Session,
  options: { readonly tenant: string; readonly json?: boolean },
): Promise<void> {
  await session.caughtUp('ledger')
  const { byTenant, asOf } = await balancesOf(session.pool, [options.tenant], undefined)
  const found = (byTenant.get(options.tenant) ?? []).map((of) => ({
    currency: of.currency,
    credit: formatAmount(of.grantedPico + of.adjustedPico),
    settled: formatAmount(of.settledPico),
    held: formatAmount(of.heldPico),
    limit: formatAmount(of.creditLimitPico),
    available: formatAmount(of.availablePico),
    position: asOf,
  }))
  if (options.json) return print(toJson(found))
  const columns = ['currency', 'credit', 'settled', 'held', 'limit', 'available'] as const
  const rows = found.map((balance) => columns.map((column) => balance[column]))
  for (const line of table(columns, rows)) print(line)
}

const idShape = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** The id that `--id` names. @throws UsageError where it cannot be one */
function namedId(id: string | undefined): string | undefined {
  if (id === undefined || idShape.test(id)) return id
  throw new UsageError('--id must be 1 to 64 letters, digits, _ and -, not beginning with a sign')
}

/** Printed before the request: the answer may be lost. */
function noteId(id: string): void {
  note(`if no answer comes, repeat it with --id ${id}: it counts once`)
}

async function correctionOf(
  { pool, caughtUp }: Session,
  { line: lineId, grant }: { readonly line?: string; readonly grant?: string },
): Promise<AdjustmentTarget> {
  if ((lineId === undefined) === (grant === undefined))
    throw new UsageError('give --line <line id> or --grant <grant id>')
  if (grant !== undefined) return { kind: 'grant', grantId: grant }
  const id = lineId ?? ''
  let line = await lineFacts(pool, id)
  // A line that was settled a moment ago counts.
  if (!line && (await caughtUp('ledger'))) line = await lineFacts(pool, id)
  if (!line) throw new CommandError(`the ledger has no line ${id}`)
  return { kind: 'line', line }
}

export function currencyOf(text: string): Currency {
  const currency = currencies.find((known) => known === text)
  if (!currency) throw new UsageError(`--currency must be one of ${currencies.join(', ')}`)
  return currency
}
