import { type Command, Option } from 'commander'
import { readLife } from '../api/query/lives/route.ts'
import { ticketOf, ticketText } from '../api/query/lives/ticket.ts'
import { RequestError } from '../api/kit/request-error.ts'
import { DomainError } from '../kernel/errors.ts'
import { JSON_OPTION, onStores } from './command.ts'
import { CommandError, print, toJson } from './output.ts'
import { inOptions, operator, servicesOf } from './report.ts'
import type { Session } from './session.ts'

const TICKET_HELP = `
The id is that of a call, an answer, a task or an asset (ours or native), a request, or a line of the ledger. The ticket
is Markdown: what it came to, each step with who said it, what it moved of money and what is held and owed after it,
related lives, and a reply that may be sent to the customer.

Examples:
  tollgate ticket call_01M8A107EWHJY6EV9EW3K1KVH7 --tz Asia/Shanghai > ticket.md
  tollgate ticket req_01M8A107EWHJY6EV9EW3K1KVH7 --reply

The exit code is 1 if nothing is found.`

interface TicketOptions {
  readonly tenant?: string
  readonly tz?: string
  readonly reply?: boolean
  readonly json?: boolean
}

/** Registers `tollgate ticket`. */
export function addTicket(program: Command): void {
  program
    .command('ticket')
    .description('a life in full: its steps, its money, what is related, and a reply')
    .argument('<id>', 'id of a call, a task, a request, an asset, a file or a ledger line')
    .option('--tenant <id>', 'only if it belongs to this tenant')
    .option('--tz <zone>', 'IANA time zone of the times; default: UTC')
    .addOption(new Option('--reply', 'only the reply').conflicts('json'))
    .option(...JSON_OPTION)
    .addHelpText('after', TICKET_HELP)
    .action(onStores(ticketCommand))
}

/** @throws CommandError where there is nothing of that id */
async function ticketCommand(session: Session, id: string, options: TicketOptions): Promise<void> {
  const { tenant, tz, reply = false, json = false } = options
  const { reads } = servicesOf(session).queries
  const reader =
    tenant === undefined
      ? operator
      : { ...operator, tenantId: tenant, scope: { level: 'all_users' as const } }
  const life = await readLife(reads, reader, id, { tz }).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === 'life_not_found')
      throw new CommandError(`nothing was found for ${id}`)
    throw error instanceof RequestError ? inOptions(error) : error
  })
  const ticket = ticketOf(life)
  if (json) return print(toJson(ticket))
  print(reply ? ticket.reply : ticketText(ticket).trimEnd())
}
