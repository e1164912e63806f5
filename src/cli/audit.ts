import type { Command } from 'commander'
import type { Pool } from 'pg'
import type { AuditReport } from '../app/audit/audit.ts'
import type { AuditState } from '../app/audit/state.ts'
import { keepLastAudit } from '../app/audit/last-audit.ts'
import { systemClock } from '../kernel/clock.ts'
import { readStateFile, stateKeeper, StateFileError } from '../app/audit/state-file.ts'
import { auditAll } from '../start/audit.ts'
import { messageOf } from './explain.ts'
import { CommandError, note, print, progress, toJson } from './output.ts'
import type { Session } from './session.ts'
import { JSON_OPTION, ON_ANY_STORES, onStores } from './command.ts'

const AUDIT_HELP = `
Reads the log from its start, computes what every row must be, and reports each row that differs: its table, its
key, the value by the log and the stored value. It may run while the gateway serves, and writes only the result
that /metrics shows.

With --state <file> an audit continues where the last one ended or was stopped. The file records the last position
without findings, and the head of the hash chain there. Earlier ledger lines are checked by their hashes, and later
rows against the log; earlier rows of other tables are checked only by a full audit, which is one without the file.
Keep the file where users of the database cannot change it, and copy the head that is printed.

Each cause is reported once: if a read model missed an event, the balances, totals and hashes that depend on it are
not reported as well. "tollgate rebuild <name>" rebuilds a read model from the log.`

/** Registers `tollgate audit`. */
export function addAudit(program: Command): void {
  program
    .command('audit')
    .description(
      'compare every row of every read model with the log; exit code 1 on any difference',
    )
    .option('--state <file>', 'continue after the audits recorded in this file, and update it')
    .option(...JSON_OPTION)
    .addHelpText('after', AUDIT_HELP)
    .action(onStores(auditCommand, ON_ANY_STORES))
}

/** `tollgate audit`: exit code 1 on any difference. */
async function auditCommand(
  { pool, log }: Pick<Session, 'pool' | 'log'>,
  options: { readonly json?: boolean; readonly state?: string },
): Promise<void> {
  const { state: path } = options
  const resume = path === undefined ? undefined : await readState(path)
  let shown = progress('')
  let counting = ''
  const onProgress = (done: number, what: string): void => {
    if (what !== counting) {
      shown.end()
      shown = progress(what)
      counting = what
    }
    shown.update(done)
  }
  const report = await auditAll({
    pool,
    log,
    resume,
    onProgress,
    ...(path === undefined ? {} : { onState: stateKeeper(path, systemClock) }),
  })
  shown.end()
  await recordResult(pool, report)
  if (!report.ok) process.exitCode = 1
  if (options.json) print(toJson(report))
  else for (const line of describe(report)) print(line)
}

/** Records the result for `/metrics` and for closes. An audit with a read-only account succeeds without the record. */
async function recordResult(pool: Pool, report: AuditReport): Promise<void> {
  try {
    await keepLastAudit(pool, report)
  } catch (error) {
    note(`the result of the audit could not be recorded for /metrics: ${messageOf(error)}`)
  }
}

/** The report for people: findings first, then what was compared, the head of the chain last. */
function describe(report: AuditReport): readonly string[] {
  const { chain, findings, findingsInAll, onTrust } = report
  const found = findings.map(
    ({ code, table, key, position, message }) =>
      `${code}  ${table} ${key}${position === '' ? '' : `  @${position}`}  ${message}`,
  )
  const more = findingsInAll - findings.length
  const summary =
    `${auditVerdictOf(report)}: ${report.events} events, ` +
    `${report.settledSources} settled results, ${report.lines} lines, ${report.balances} balances, ` +
    `${report.tasks} tasks, ${report.assets} assets and ${report.timelineEvents} timeline events ` +
    (report.resumedFrom === undefined ? '' : `after position ${report.resumedFrom} `) +
    `compared up to position ${report.position}` +
    (report.notCompared > 0 ? `; ${report.notCompared} later events not compared` : '')
  const head = `chain: ${chain.lines} lines, head ${chain.head}`
  const broken =
    chain.brokenAt === undefined
      ? 'as stored'
      : `by the log; the stored chain differs from position ${chain.brokenAt} and has the head ${chain.standing}`
  const trusted = onTrust.map((part) => `not compared again after an earlier audit: ${part}`)
  const others = more > 0 ? [`… and ${more} more`] : []
  return [...found, ...others, summary, ...trusted, `${head} ${broken}`]
}

/** Only an audit that compared everything says "clean". */
function auditVerdictOf({ ok, findingsInAll, onTrust }: AuditReport): string {
  if (!ok) return `${findingsInAll} finding(s)`
  return onTrust.length === 0 ? 'clean' : 'no finding in the compared rows'
}

/** State of earlier audits; undefined when there was none. */
async function readState(path: string): Promise<AuditState | undefined> {
  try {
    return await readStateFile(path)
  } catch (error) {
    if (!(error instanceof StateFileError)) throw error
    throw new CommandError(`${error.message}: remove it to audit from the start`)
  }
}
