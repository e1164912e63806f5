import { type Command, Option } from 'commander'
import { onStores } from './command.ts'
import { note, print } from './output.ts'
import { showTable } from './report.ts'
import type { Session } from './session.ts'

const FAILURES_HELP = `
Failures are requests that reached a provider and have no result. Refusals are all answers with an error, also those of
requests that reached none: counted by hour, token, route and code, with the newest request. "tollgate report failures"
and "tollgate report refusals" have all parameters, CSV and JSON.

Examples:
  tollgate failures --tenant acme --today --tz Asia/Shanghai
  tollgate failures --tenant acme --from 2026-11-26 --to 2026-11-27 --token token_1 --code rate_limited --refused`

interface FailureOptions {
  readonly tenant: string
  readonly today?: boolean
  readonly from?: string
  readonly to?: string
  readonly tz?: string
  readonly token?: string
  readonly code?: string
  readonly refused?: boolean
}

/** Registers `tollgate failures`. */
export function addFailures(program: Command): void {
  program
    .command('failures')
    .description('requests without a result, and refused ones')
    .requiredOption('--tenant <id>', 'of this tenant')
    .addOption(new Option('--today', 'of today').conflicts(['from', 'to']))
    .option('--from <time>', 'from this time or day on')
    .option('--to <time>', 'before this time or day')
    .option('--tz <zone>', 'IANA time zone whose days apply; default: UTC')
    .option('--token <id>', 'with this token')
    .option('--code <code>', 'with this code')
    .option('--refused', 'counts of refusals too')
    .addHelpText('after', FAILURES_HELP)
    .action(onStores(failuresCommand))
}

const failureColumns = [
  'at',
  'id',
  'status',
  'code',
  'model',
  'token_last_four',
  'request_id',
  'message',
]
const refusalColumns = [
  'hour',
  'token_id',
  'route',
  'code',
  'count',
  'last_at',
  'last_request',
  'param',
]

async function failuresCommand(session: Session, options: FailureOptions): Promise<void> {
  const { tenant, token, code, today = false, from, to, tz, refused = false } = options
  const given = { tenant_id: tenant, token_id: token, code, from, to, tz }
  const asked = Object.fromEntries([
    ...Object.entries(given).filter(([, value]) => value !== undefined),
    ...(today ? [['time_preset', 'today']] : []),
  ]) as Readonly<Record<string, string>>
  await showTable(session, 'failures', asked, { columns: failureColumns })
  if (!refused) return
  print('')
  note('refusals, counted by hour:')
  await showTable(session, 'refusals', asked, {
    columns: refusalColumns,
    add: ({ samples }) => {
      const [newest]: readonly unknown[] = Array.isArray(samples) ? samples : []
      const { request_id: request, param } = Object(newest) as Readonly<Record<string, unknown>>
      return { last_request: request, param }
    },
  })
}
