import { rebuildProjection } from '../../projections/engine/rebuild.ts'
import { allProjections, findProjection } from '../../projections/registry.ts'
import { audit } from '../app/audit/audit.ts'
import { CommandError, note, print, progress, table, toJson } from './output.ts'
import type { Session } from './session.ts'

/** `tollgate audit`: exit code 1 on any difference. */
export async function auditCommand(session: Session, options: { json?: boolean }): Promise<void> {
  const shown = progress('events audited')
  const report = await audit(session.pool, session.log, shown.update)
  shown.end()
  if (!report.ok) process.exitCode = 1
  if (options.json) print(toJson(report))
  else {
    for (const finding of report.findings)
      print(`${finding.code}  ${finding.sourceId}  @${finding.position}  ${finding.message}`)
    print(
      `${report.ok ? 'clean' : `${report.findingsInAll} finding(s)`}: ${report.events} events, ` +
        `${report.settledSources} settled results, ${report.lines} lines and ${report.balances} balances ` +
        `compared up to position ${report.position}` +
        (report.notCompared > 0 ? `; ${report.notCompared} later events not compared` : ''),
    )
  }
}

/** `tollgate rebuild <name>`: exit code 1 when what is live differs from what the log says. */
export async function rebuildCommand(
  session: Session,
  name: string,
  options: { json?: boolean; force?: boolean },
): Promise<void> {
  const projection = findProjection(name)
  if (!projection) {
    const names = allProjections.map((known) => known.name).join(', ')
    throw new CommandError(`no read model is called ${name}; there are ${names}`)
  }
  const shown = progress('events applied')
  const result = await rebuildProjection({
    pool: session.pool,
    log: session.log,
    projection,
    onProgress: ({ events, phase }) => shown.update(events, phase),
    ...(options.force ? { force: true } : {}),
  })
  shown.end()
  if (result.outcome === 'different') process.exitCode = 1
  if (options.json) print(toJson(result))
  else {
    const { comparison } = result
    if (comparison) {
      const live = comparison.live
      const rows = [
        typeof live === 'string' ? ['live', '', live] : ['live', String(live.rows), live.hash],
        ['rebuilt', String(comparison.rebuilt.rows), comparison.rebuilt.hash],
      ]
      for (const line of table(['tables', 'rows', 'hash'], rows)) print(line)
      for (const [total, value] of Object.entries(comparison.rebuilt.totals))
        print(`  ${total}: ${value}`)
    }
    print(`${name}: ${result.outcome} after ${result.events} events`)
  }
  if (result.outcome === 'different')
    note(
      `what is live differs from what the log says; the rebuilt tables stay in schema ${name}_next`,
    )
}
