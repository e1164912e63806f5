import type { Command } from 'commander'
import { type DecidedVoid, proposeVoid, rejectVoid } from '../app/finance/statements/void.ts'
import { crashPointFrom } from '../app/crash-points.ts'
import { type ActorOption, changing, depsOf, onStores } from './command.ts'
import { currencyOf } from './credit.ts'
import { note, show, UsageError } from './output.ts'
import type { Session } from './session.ts'

const VOID_HELP = `
The last closed month of a currency can be void: its statement then is, and the month is closed again. A shell proposes and rejects.
It cannot approve, because it does not say which user it is: a user other than the proposer does over HTTP, with an operator's admin token:

  POST /api/admin/tenants/<tenant>/periods/<month>/void/approve

  tollgate void propose --tenant acme --currency CNY --month 2026-11 --reason 'a refund was dated wrongly'`

/** Registers `tollgate void …`. */
export function addVoids(program: Command): void {
  const group = program.command('void').description('void the last closed month of a tenant')
  const ofMonth = (name: string, description: string): Command =>
    changing(group.command(name))
      .description(description)
      .requiredOption('--tenant <id>', 'tenant')
      .requiredOption('--currency <code>', 'CNY or USD')
      .requiredOption('--month <month>', 'the closed month, such as 2026-11')
      .requiredOption('--reason <text>', 'why')
      .addHelpText('after', VOID_HELP)
  ofMonth('propose', 'propose to void a closed month; another user approves it').action(
    onStores((session: Session, options: VoidOptions) =>
      voidCommand(session, options, proposeVoid),
    ),
  )
  ofMonth('reject', 'reject or withdraw a proposal to void a month').action(
    onStores((session: Session, options: VoidOptions) => voidCommand(session, options, rejectVoid)),
  )
}

interface VoidOptions extends ActorOption {
  readonly tenant: string
  readonly currency: string
  readonly month: string
  readonly reason: string
  readonly json?: boolean
}

/** `tollgate void propose` and `tollgate void reject`: repeated, neither changes anything. */
async function voidCommand(
  session: Session,
  options: VoidOptions,
  decide: typeof proposeVoid | typeof rejectVoid,
): Promise<void> {
  const { tenant: tenantId, month } = options
  const currency = currencyOf(options.currency)
  const reason = options.reason.trim()
  if (reason === '') throw new UsageError('--reason must not be empty')
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month))
    throw new UsageError('--month must be a month such as 2026-11')
  const deps = { ...depsOf(session, options), crashPoint: crashPointFrom(session.config.crashAt) }
  const decided: DecidedVoid = await decide(deps, { tenantId, currency, month, reason })
  const { status, proposal } = decided.void
  if (!decided.changed) note(`it was already ${status}`)
  const { statement, expiresAt } = proposal
  show({ statement, state: status, ...(status === 'proposed' && { expiresAt }) }, options.json)
  if (status === 'proposed')
    note(
      `it stands until another user approves: POST /api/admin/tenants/${tenantId}/periods/${month}/void/approve`,
    )
  await session.projected('statements', decided.position)
}
