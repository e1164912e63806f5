import type { Command } from 'commander'
import { managedLimits } from '../app/accounts/settings.ts'
import { type LimitedSubject, limitedName, type SubjectLimits } from '../domain/account/limits.ts'
import { limitNames } from '../domain/token/limits.ts'
import { CommandError, table } from './output.ts'
import type { Session } from './session.ts'
import { type OfTenant, settingCommands } from './settings.ts'
import { limitChangesOf, type LimitOptions } from './token-options.ts'
import { changingWithReason, JSON_OPTION, onStores } from './command.ts'

const SET_HELP = `
<n> is a number, or "none". All tokens of a user share the user's limits, and all users of a tenant share the
tenant's; a token may have limits too (tollgate token limit). A request beyond a limit gets 429 with Retry-After;
nothing is started.

  tollgate limit set --tenant tenant_acme --rpm 600 --concurrent-calls 50
  tollgate limit set --tenant tenant_acme --user user_ada --rpm 60 --concurrent-tasks 3`

/** Registers `tollgate limit …`. */
export function addLimits(program: Command): void {
  const group = program
    .command('limit')
    .description('limits of requests, tokens, calls and tasks of a tenant or a user')
  const one = (name: string): Command =>
    changingWithReason(group.command(name))
      .requiredOption('--tenant <id>', 'tenant')
      .option('--user <id>', 'of a user instead of the tenant')
  one('set')
    .description('set limits of a tenant or of a user; others are unchanged')
    .option('--rpm <n>', 'calls and task creations per minute')
    .option('--tpm <n>', 'text tokens per minute, input and output')
    .option('--concurrent-calls <n>', 'running synchronous calls')
    .option('--concurrent-tasks <n>', 'tasks that have not ended')
    .addHelpText('after', SET_HELP)
    .action(onStores(setLimitsCommand))
  one('remove')
    .description('remove all limits of a tenant or of a user')
    .action(onStores(removeLimitsCommand))
  group
    .command('list')
    .description('limits of a tenant and of its users')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(listLimitsCommand))
}

interface OfSubject extends OfTenant {
  readonly user?: string
}

const commands = settingCommands(managedLimits, (_session, tenantId, { revision, limits }) => {
  const rows = limits.map(({ subject, ...figures }) => ({
    subject: limitedName(subject),
    ...figures,
  }))
  const cells = rows.map((row) => [
    row.subject,
    ...limitNames.map((name) => String(row[name] ?? '')),
  ])
  const columns = ['whose', 'rpm', 'tpm', 'concurrent calls', 'concurrent tasks']
  return {
    json: { tenantId, revision, limits: rows },
    lines: [
      `${tenantId}: ${limits.length === 0 ? 'no limits' : 'limits'} (revision ${revision})`,
      ...(limits.length === 0 ? [] : table(columns, cells)),
    ],
  }
})

/** `tollgate limit list` */
const listLimitsCommand = commands.show

/** `tollgate limit set` */
async function setLimitsCommand(
  session: Session,
  options: OfSubject & LimitOptions,
): Promise<void> {
  const subject = subjectOf(options)
  const changes = limitChangesOf(options, ['none'])
  await commands.change(session, options, ({ limits }) => {
    const { rest, own } = split(limits, subject)
    const next = limitNames.flatMap((name) => {
      const change = changes[name]
      const limit = change === undefined ? own?.[name] : change
      return typeof limit === 'number' ? [[name, limit] as const] : []
    })
    return {
      limits: next.length === 0 ? rest : [...rest, { subject, ...Object.fromEntries(next) }],
    }
  })
}

/** `tollgate limit remove` */
async function removeLimitsCommand(session: Session, options: OfSubject): Promise<void> {
  await commands.change(session, options, ({ limits }) => {
    const { rest, own } = split(limits, subjectOf(options))
    if (own === undefined) throw new CommandError('there are no limits to remove')
    return { limits: rest }
  })
}

function subjectOf({ user }: OfSubject): LimitedSubject {
  return user === undefined ? { kind: 'tenant' } : { kind: 'user', userId: user }
}

/** The limits of a subject, and those of all others. */
function split(limits: readonly SubjectLimits[], subject: LimitedSubject) {
  const isIt = (one: SubjectLimits) => limitedName(one.subject) === limitedName(subject)
  return { own: limits.find(isIt), rest: limits.filter((one) => !isIt(one)) }
}
