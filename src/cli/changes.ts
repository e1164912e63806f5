import { type Command, Option } from 'commander'
import { onStores } from './command.ts'
import { showTable } from './report.ts'
import type { Session } from './session.ts'

const CHANGES_HELP = `
Changes are what people and commands did to tenants, users, tokens, credit, prices, limits and months: who, what, of
whom, when, why, and from what to what. --by takes a user by id or name, a token by id, or a name at a shell.
"tollgate report changes" has all parameters, CSV and JSON.

Examples:
  tollgate changes --by ann --today
  tollgate changes --tenant acme --from 2026-11-01 --to 2026-12-01 --tz Asia/Shanghai`

interface ChangesOptions {
  readonly tenant?: string
  readonly by?: string
  readonly today?: boolean
  readonly from?: string
  readonly to?: string
  readonly tz?: string
}

/** Registers `tollgate changes`. */
export function addChanges(program: Command): void {
  program
    .command('changes')
    .description('what was changed: by whom, of whom, when and why')
    .option('--tenant <id>', 'of this tenant')
    .option('--by <name>', 'by this user, token or name at a shell')
    .addOption(new Option('--today', 'of today').conflicts(['from', 'to']))
    .option('--from <time>', 'from this time or day on')
    .option('--to <time>', 'before this time or day')
    .option('--tz <zone>', 'IANA time zone whose days apply; default: UTC')
    .addHelpText('after', CHANGES_HELP)
    .action(onStores(changesCommand))
}

const columns = ['at', 'by', 'what', 'tenant_id', 'of', 'from', 'to', 'reason', 'id']

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A name with its id, where both are known. */
const withId = (name: unknown, id: unknown): string =>
  textOf(name) === '' || name === id ? textOf(id) : `${textOf(name)} (${textOf(id)})`

async function changesCommand(session: Session, options: ChangesOptions): Promise<void> {
  const { tenant, by, today = false, from, to, tz } = options
  const given = { tenant_id: tenant, by, from, to, tz }
  const asked = Object.fromEntries([
    ...Object.entries(given).filter(([, value]) => value !== undefined),
    ...(today ? [['time_preset', 'today']] : []),
  ]) as Readonly<Record<string, string>>
  await showTable(session, 'changes', asked, {
    columns,
    add: (row) => ({
      by: withId(row['actor_name'], row['actor_user_id'] ?? row['actor']),
      of: [withId(row['user_name'], row['user_id']), withId(row['token_name'], row['token_id'])]
        .filter((text) => text !== '')
        .join(', '),
    }),
  })
}
