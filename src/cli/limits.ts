import { managedLimits } from '../app/accounts/settings.ts'
import { type LimitedSubject, limitedName, type SubjectLimits } from '../domain/account/limits.ts'
import { limitNames } from '../domain/token/limits.ts'
import { CommandError, table } from './output.ts'
import type { Session } from './session.ts'
import { type OfTenant, settingCommands } from './settings.ts'
import { limitChangesOf, type LimitOptions } from './token-limits.ts'

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
export const listLimitsCommand = commands.show

/** `tollgate limit set` */
export async function setLimitsCommand(
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
export async function removeLimitsCommand(session: Session, options: OfSubject): Promise<void> {
  await commands.change(session, options, ({ limits }) => {
    const { rest, own } = split(limits, subjectOf(options))
    if (own === undefined) throw new CommandError('there are no such limits')
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
