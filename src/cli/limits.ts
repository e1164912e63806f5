import { managedLimits } from '../app/accounts/settings.ts'
import {
  type AccountLimits,
  type LimitedSubject,
  limitedName,
  type SubjectLimits,
} from '../domain/account/limits.ts'
import { limitNames } from '../domain/token/limits.ts'
import { CommandError, print, table, toJson } from './output.ts'
import type { Session } from './session.ts'
import { changeSetting, type OfTenant, readSetting } from './settings.ts'
import { limitChangesOf, type LimitOptions } from './token-limits.ts'

interface OfSubject extends OfTenant {
  readonly user?: string
}

/** `tollgate limit set` */
export async function setLimitsCommand(
  session: Session,
  options: OfSubject & LimitOptions,
): Promise<void> {
  const subject = subjectOf(options)
  const changes = limitChangesOf(options, ['none'])
  await change(session, options, (before) => {
    const { rest, own } = apart(before, subject)
    const next = limitNames.flatMap((name) => {
      const said = changes[name]
      const limit = said === undefined ? own?.[name] : said
      return typeof limit === 'number' ? [[name, limit] as const] : []
    })
    return next.length === 0 ? rest : [...rest, { subject, ...Object.fromEntries(next) }]
  })
}

/** `tollgate limit remove` */
export async function removeLimitsCommand(session: Session, options: OfSubject): Promise<void> {
  await change(session, options, (before) => {
    const { rest, own } = apart(before, subjectOf(options))
    if (own === undefined) throw new CommandError('there are no such limits')
    return rest
  })
}

/** `tollgate limit list` */
export async function listLimitsCommand(session: Session, options: OfTenant): Promise<void> {
  show(options, await readSetting(session, options, 'limits'))
}

function change(
  session: Session,
  options: OfTenant,
  next: (before: readonly SubjectLimits[]) => readonly SubjectLimits[],
): Promise<void> {
  return changeSetting(session, options, managedLimits, {
    next: ({ limits }) => ({ limits: next(limits) }),
    show: (limits) => show(options, limits),
  })
}

function show({ tenant, json }: OfTenant, { revision, limits }: AccountLimits): void {
  if (json) {
    const shown = limits.map(({ subject, ...figures }) => ({
      subject: limitedName(subject),
      ...figures,
    }))
    return print(toJson({ tenantId: tenant, revision, limits: shown }))
  }
  print(`${tenant}: ${limits.length === 0 ? 'no limits' : 'limits'} (revision ${revision})`)
  if (limits.length === 0) return
  const rows = limits.map((one) => [
    limitedName(one.subject),
    ...limitNames.map((name) => String(one[name] ?? '')),
  ])
  const columns = ['whose', 'rpm', 'tpm', 'concurrent calls', 'concurrent tasks']
  for (const line of table(columns, rows)) print(line)
}

function subjectOf({ user }: OfSubject): LimitedSubject {
  return user === undefined ? { kind: 'tenant' } : { kind: 'user', userId: user }
}

function apart(limits: readonly SubjectLimits[], subject: LimitedSubject) {
  const isIt = (one: SubjectLimits) => limitedName(one.subject) === limitedName(subject)
  return { own: limits.find(isIt), rest: limits.filter((one) => !isIt(one)) }
}
