import type { AssetFindings } from './assets/oracle.ts'
import type { LoggedThing } from './assets/library.ts'
import type { Findings } from './findings.ts'
import type { CallFindings } from './calls/oracle.ts'
import { isOpen } from './log-reader.ts'
import { excuses } from './oracle.ts'
import { familyNames } from './tasks/registry.ts'

/** What became of everything, in figures. */
export function figuresOf(findings: Findings): Readonly<Record<string, number>> {
  const { accepted, tasks, lines, witness } = findings
  const all = [...tasks.values()]
  const count = (fits: (task: (typeof all)[number]) => boolean): number => all.filter(fits).length
  return {
    'creations sent by callers': witness.intended.size,
    'tasks accepted upstream': accepted.length,
    'successes upstream': accepted.filter(({ success }) => success).length,
    'tasks in the log': all.length,
    settled: count(({ settlements }) => settlements.length > 0),
    ...Object.fromEntries(
      familyNames.map((name) => [
        `settled of ${name}`,
        count(({ family, settlements }) => family === name && settlements.length > 0),
      ]),
    ),
    ...excuses(findings),
    'ledger lines': lines.length,
    refused: count(({ refused }) => refused),
    'declared uncertain': count(({ uncertain }) => uncertain),
    'adopted by reconciliation': count(({ via }) => via === 'reconciliation'),
    failed: count(({ end, neverAccepted }) => end === 'failed' && !neverAccepted),
    'given up as never accepted': count(({ neverAccepted }) => neverAccepted),
    cancelled: count(({ end }) => end === 'cancelled'),
    'hidden by callers': count(({ deleted }) => deleted),
    'expired, reported as possible cost leak': count((task) => task.possibleCostLeak),
    open: count(isOpen),
    ...callFigures(findings.calls),
    ...assetFigures(findings.assets),
  }
}

function assetFigures({ upstream, logged, uses }: AssetFindings): Readonly<Record<string, number>> {
  const assets = [...logged.assets.values()]
  const ended = (phase: LoggedThing['phase']): number =>
    assets.filter((one) => one.phase === phase).length
  const persons = [...logged.groups.values()].filter(
    ({ groupType }) => groupType === 'LivenessFace',
  )
  const verifications = [...logged.verifications.values()]
  const found = assets.filter(({ events }) =>
    events.some(({ type, data }) => type === 'AssetAccepted' && data['learntFrom'] === 'list'),
  )
  return {
    'assets accepted upstream': upstream.assets.length,
    'assets in the log': assets.length,
    'assets found by their name': found.length,
    'assets active': ended('active'),
    'assets failed': ended('failed'),
    'assets refused or never taken': ended('refused'),
    'assets deleted': ended('deleted'),
    'asset groups in the log': logged.groups.size,
    'persons verified': persons.length,
    'persons deleted': persons.filter(({ phase }) => phase === 'deleted').length,
    'verifications expired': verifications.filter(({ phase }) => phase === 'expired').length,
    'tasks with an asset': uses.length,
  }
}

function callFigures(findings: CallFindings): Readonly<Record<string, number>> {
  const { accepted, calls, tasks, lines, witness } = findings
  const ordered = [...witness.ordered.values()]
  const all = [...tasks.values()]
  const settled = calls.filter(({ type }) => type === 'CallSettled').length
  const delivered: Record<string, number> = {}
  for (const { order, delivered: isDelivered } of ordered) {
    if (order.way === 'async') continue
    const name = `delivered: ${order.family} ${order.way}`
    delivered[name] = (delivered[name] ?? 0) + Number(isDelivered)
  }
  return {
    'orders of callers': ordered.length,
    'orders accepted upstream': accepted.length,
    'orders made upstream': accepted.filter(({ success }) => success).length,
    ...delivered,
    'calls settled': settled,
    'calls failed': calls.length - settled,
    'image tasks in the log': all.length,
    'image tasks settled': all.filter(({ settlements }) => settlements.length > 0).length,
    'image tasks in doubt': all.filter(({ uncertain }) => uncertain !== undefined).length,
    'image tasks with a possible cost leak': all.filter((task) => task.possibleCostLeak).length,
    'ledger lines of calls and image tasks': lines.length,
    'files uploaded': witness.files.size,
    'samples uploaded': witness.samples.size,
    'voices cloned': witness.voices.size,
  }
}
