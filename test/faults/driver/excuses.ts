import type { Findings } from './findings.ts'
import { isOpen, type LoggedTask } from './log-reader.ts'
import type { Accepted } from './sandbox.ts'
import { taskFamily } from './tasks/registry.ts'

/** What may be said for a success of upstream's that is not settled, and what may not. */

/** A task is looked for among those that upstream accepted so long before or after it was asked for. */
const BEFORE_MS = 11_000
const AFTER_MS = 46_000
/** With more requests of a family in doubt nothing that bears no marker is told apart. */
const MOST_IN_DOUBT = 50

/**
 * Whether an upstream task is a task's own, as an outsider knows it: by the request that was sent, else
 * by who was told its id, else by its marker.
 */
export function claims(
  { sentAs }: Pick<Findings, 'sentAs'>,
  task: LoggedTask,
  upstream: Accepted,
): boolean {
  const marker = sentAs.get(task.platformId)
  const isMarked = taskFamily(upstream.family).lists === 'marked'
  const isShown = isMarked && task.marker === upstream.safety_identifier
  if (marker === undefined) return isShown
  return marker === upstream.client_marker && (isShown || !isMarked)
}

/**
 * Whether a task that was sent as upstream has it says that it may be there. A record that upstream
 * lost before any list showed it is to everybody as one that never was: its task may be given up.
 */
export function isReported(task: LoggedTask, upstream: Accepted): boolean {
  return isOpen(task) || task.possibleCostLeak || (upstream.gone && task.neverAccepted)
}

/** Why a success may stand unsettled: only what nobody could have told, and what says so. */
export function excuseOf(
  findings: Findings,
  owners: ReadonlyMap<string, LoggedTask>,
  upstream: Accepted,
  owner: LoggedTask | undefined,
): string | undefined {
  if (owner !== undefined)
    return upstream.gone && isReported(owner, upstream)
      ? 'its record vanished before its usage was told'
      : undefined
  const inDoubt = [...findings.tasks.values()].filter(
    (task) => task.family === upstream.family && task.nativeId === undefined && !task.refused,
  )
  const claimant = inDoubt.find(
    (task) => isReported(task, upstream) && claims(findings, task, upstream),
  )
  if (claimant === undefined) return undefined
  if (upstream.gone) return 'its record vanished before it could be found'
  const { lists } = taskFamily(upstream.family)
  switch (lists) {
    case 'none':
      return 'nothing lists its family'
    case 'marked':
      if (claimant.markerIsOurs) return undefined
      break
    case 'unmarked':
      if (inDoubt.length > MOST_IN_DOUBT)
        return 'no list shows its marker, and too much is in doubt'
  }
  const mayBe = (task: LoggedTask, one: Accepted): boolean => isAlike(findings, task, one)
  const requests = inDoubt.filter((task) => !task.neverAccepted && mayBe(task, upstream))
  const likewise = findings.accepted.filter(
    (one) => one.family === upstream.family && !owners.has(one.id) && mayBe(claimant, one),
  )
  if (requests.length <= 1 && likewise.length <= 1) return undefined
  return lists === 'marked'
    ? 'the caller’s own identifier does not tell it from others'
    : 'no list shows its marker, and another is like it'
}

/** Whether what a family's lists show of an upstream task does not tell it from a task's own. */
function isAlike({ witness }: Findings, task: LoggedTask, upstream: Accepted): boolean {
  if (taskFamily(upstream.family).lists === 'marked')
    return task.marker === upstream.safety_identifier
  const intended = witness.intended.get(upstream.client_marker ?? '')
  const afterMs = Date.parse(upstream.accepted_at) - task.requestedAtMs
  return (
    intended?.priced.model === task.model &&
    Object.entries(task.settings).every(
      ([name, value]) => value === 'adaptive' || intended.listed[name] === value,
    ) &&
    afterMs >= -BEFORE_MS &&
    afterMs <= AFTER_MS
  )
}
