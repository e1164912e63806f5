import { judgeAssets } from './assets/oracle.ts'
import { judgeBill, judgeLedger, type Say } from './bill.ts'
import { judgeCalls } from './calls/oracle.ts'
import type { Findings } from './findings.ts'
import { isOpen, type LoggedTask } from './log-reader.ts'
import type { Accepted } from './sandbox.ts'
import { taskFamily } from './tasks/registry.ts'
import type { Difference, Intended } from './witness.ts'

/** Compares what upstream accepted with what the log and the ledger say of it. */

/** Every difference there is; an empty list is what a run is for. */
export function judge(findings: Findings): readonly Difference[] {
  const differences: Difference[] = []
  const say: Say = (code, subject, message) => differences.push({ code, subject, message })
  judgeStreams([...findings.tasks.values(), ...findings.calls.tasks.values()], say)
  const owners = ownersOf(findings, say)
  judgeUpstream(findings, owners, say)
  judgeLines(findings, owners, say)
  judgeGivenUp(findings, say)
  judgeOpen(findings, owners, say)
  return [...differences, ...judgeCalls(findings.calls), ...judgeAssets(findings.assets)]
}

const once = ['TaskRequested', 'TaskStarted', 'TaskSubmitted', 'TaskSucceeded', 'TaskSettled']

/** P1, P2: what stands in one stream, looked at by itself. */
function judgeStreams(
  tasks: readonly (Pick<LoggedTask, 'platformId' | 'events'> & {
    readonly settlements: readonly unknown[]
  })[],
  say: Say,
): void {
  for (const { platformId, events, settlements } of tasks) {
    const types = events.map(({ type }) => type)
    if (types[0] !== 'TaskRequested') say('no_intent', platformId, `begins with ${types[0]}`)
    for (const type of once)
      if (types.filter((one) => one === type).length > 1) say('twice', platformId, `${type} twice`)
    const ended = types.filter((type) => /^Task(Succeeded|Failed|Expired|Cancelled)$/.test(type))
    if (ended.length > 1) say('two_ends', platformId, ended.join(', '))
    const success = events.findIndex(({ type }) => type === 'TaskSucceeded')
    if (success < 0 && settlements.length > 0) say('settled_unsucceeded', platformId, 'P2')
    if (success < 0) continue
    const [one, next] = events.slice(success, success + 2)
    if (next?.type !== 'TaskSettled' || next.commandId !== one?.commandId)
      say('success_without_settlement', platformId, 'P2')
  }
}

/** Which task of ours owns an upstream one; each upstream task has at most one. */
function ownersOf(findings: Findings, say: Say): ReadonlyMap<string, LoggedTask> {
  const { tasks, accepted } = findings
  const owners = new Map<string, LoggedTask>()
  const known = new Map(accepted.map((one) => [one.id, one]))
  for (const task of tasks.values()) {
    const { nativeId, platformId, family } = task
    if (nativeId === undefined) continue
    const other = owners.get(nativeId)
    if (other) say('owned_twice', nativeId, `by ${other.platformId} and ${platformId}`)
    owners.set(nativeId, task)
    const upstream = known.get(nativeId)
    if (upstream === undefined) say('made_up', platformId, `${nativeId} was never accepted`)
    else if (upstream.family !== family)
      say('wrong_owner', nativeId, `of ${upstream.family}, kept as one of ${family}`)
    else if (!claims(findings, task, upstream))
      say('wrong_owner', nativeId, `${platformId} is another creation`)
    else if (Date.parse(upstream.accepted_at) < task.requestedAtMs - 1_000)
      say('intent_too_late', nativeId, `accepted before ${platformId} was recorded (P1)`)
  }
  return owners
}

function judgeUpstream(
  findings: Findings,
  owners: ReadonlyMap<string, LoggedTask>,
  say: Say,
): void {
  const { accepted, witness } = findings
  const sent = new Map<string, Accepted>()
  for (const upstream of accepted) {
    const marker = upstream.client_marker ?? ''
    const intended = witness.intended.get(marker)
    if (intended === undefined) {
      say('unasked', upstream.id, 'nobody asked for it')
      continue
    }
    const other = sent.get(marker)
    if (other) say('sent_twice', marker, `accepted as ${other.id} and ${upstream.id}`)
    sent.set(marker, upstream)
    for (const id of intended.nativeIds)
      if (id !== upstream.id) say('wrong_id', marker, `told ${id}, accepted as ${upstream.id}`)
    judgeOwner(upstream, owners.get(upstream.id), intended, say)
    judgeOne(findings, owners, upstream, intended, say)
  }
  for (const { marker, nativeIds } of witness.intended.values())
    if (nativeIds.size > 0 && !sent.has(marker)) say('made_up', marker, 'told an id of nothing')
}

function judgeOwner(
  upstream: Accepted,
  owner: LoggedTask | undefined,
  intended: Intended,
  say: Say,
): void {
  if (owner === undefined) return
  if (owner.model !== intended.priced.model)
    say('wrong_owner', upstream.id, `asked as ${intended.priced.model}, kept as ${owner.model}`)
  // A caller's own end user is in many requests; our marker is in one.
  const told = intended.platformIds
  if (owner.markerIsOurs && told.size > 0 && !told.has(owner.platformId))
    say('wrong_owner', upstream.id, `owned by ${owner.platformId}, told ${[...told].join(' ')}`)
}

/** One task upstream made: what must have become of it here. */
function judgeOne(
  findings: Findings,
  owners: ReadonlyMap<string, LoggedTask>,
  upstream: Accepted,
  intended: Intended,
  say: Say,
): void {
  const owner = owners.get(upstream.id)
  const settlements = owner?.settlements ?? []
  if (upstream.success && upstream.deleted)
    say('usage_destroyed', upstream.id, 'a success was deleted upstream')
  if (!upstream.success || upstream.usage === null) {
    if (settlements.length > 0) say('settled_in_vain', upstream.id, `upstream: ${upstream.outcome}`)
    return
  }
  const [settlement] = settlements
  if (settlement !== undefined) {
    const { measured, owed } = taskFamily(upstream.family)
    const told = [upstream.usage, upstream.usage_later].filter((usage) => usage !== null)
    const settled = told.find((usage) => measured(usage) === measured(settlement.usage))
    if (settled === undefined)
      say('wrong_usage', upstream.id, `settled ${JSON.stringify(settlement.usage)}`)
    const due = owed(intended.priced, settled ?? settlement.usage)
    judgeBill(upstream.id, due, settlement, say)
    return
  }
  const excuse = excuseOf(findings, owners, upstream, owner)
  if (excuse === undefined)
    say(
      'unsettled',
      upstream.id,
      `client ${intended.marker}: ${upstream.outcome}, ${owner === undefined ? 'nobody owns it' : `owned by ${owner.platformId}, ${owner.end ?? 'open'}`}`,
    )
}

/** Successes that stand unsettled, by why they may: few, or the run says little. */
export function excuses(findings: Findings): Readonly<Record<string, number>> {
  const owners = ownersOf(findings, () => undefined)
  const counts: Record<string, number> = {}
  for (const upstream of findings.accepted) {
    const owner = owners.get(upstream.id)
    if (!upstream.success || (owner?.settlements.length ?? 0) > 0) continue
    const why =
      upstream.usage === null
        ? 'upstream never told its usage'
        : (excuseOf(findings, owners, upstream, owner) ?? 'no excuse')
    counts[`unsettled success: ${why}`] = (counts[`unsettled success: ${why}`] ?? 0) + 1
  }
  return counts
}

/** The ledger holds exactly the lines of the settlements, and those nothing but successes. */
function judgeLines(findings: Findings, owners: ReadonlyMap<string, LoggedTask>, say: Say): void {
  const { tasks, lines, accepted } = findings
  const settled = [...tasks.values()].flatMap(({ platformId, settlements }) =>
    settlements.map((settlement) => [platformId, settlement] as const),
  )
  judgeLedger(settled, lines, say)
  const successes = new Set(accepted.flatMap(({ success, id }) => (success ? [id] : [])))
  for (const { line_id: id, source_id: source, native_id: nativeId, sku, model } of lines) {
    if (!successes.has(nativeId ?? '')) say('line_in_vain', id, `${nativeId} ${sku}`)
    const owner = owners.get(nativeId ?? '')
    if (owner?.model !== model) say('line_differs', id, `model ${model}`)
    else if (owner.platformId !== source) say('line_differs', id, `of ${source}`)
  }
}

/** P5: only what upstream never had is given up as that, and only by a marker of our own that is shown. */
function judgeGivenUp(findings: Findings, say: Say): void {
  for (const task of findings.tasks.values()) {
    const { platformId, neverAccepted, markerIsOurs } = task
    if (!neverAccepted) continue
    if (taskFamily(task.family).lists !== 'marked')
      say('given_up_in_doubt', platformId, 'no list shows its marker')
    else if (!markerIsOurs) say('given_up_in_doubt', platformId, 'its marker is its caller’s own')
    const wrongly = findings.accepted.find((one) => !one.gone && claims(findings, task, one))
    if (wrongly !== undefined) say('given_up_wrongly', platformId, `accepted as ${wrongly.id}`)
  }
}

/** What is still open must be open for a reason; past every deadline there is none. */
function judgeOpen(findings: Findings, owners: ReadonlyMap<string, LoggedTask>, say: Say): void {
  const known = new Map(findings.accepted.map((one) => [one.id, one]))
  for (const task of findings.tasks.values()) {
    const { platformId, nativeId, end, possibleCostLeak } = task
    const upstream = nativeId === undefined ? undefined : known.get(nativeId)
    if (end === 'expired' && !possibleCostLeak && upstream?.outcome !== 'expired')
      say('leak_unreported', platformId, `expired without a word of ${nativeId ?? 'no id'}`)
    if (!isOpen(task)) continue
    if (findings.when === 'past-every-deadline') {
      say('still_open', platformId, `${nativeId ?? 'no native id'}: ${upstream?.outcome ?? ''}`)
      continue
    }
    const isProvable = task.markerIsOurs && taskFamily(task.family).lists === 'marked'
    if (findings.when === 'past-every-absence' && isProvable)
      if (!findings.accepted.some((one) => claims(findings, task, one)))
        say('absence_unseen', platformId, 'upstream never had it')
    if (upstream === undefined) continue
    const ended = upstream.finished && !upstream.gone && !(upstream.success && !upstream.usage)
    if (ended) say('end_unseen', platformId, `${upstream.id} is ${upstream.outcome} upstream`)
  }
  for (const upstream of findings.accepted) {
    if (owners.has(upstream.id)) continue
    const claimed = [...findings.tasks.values()].some(
      (task) => isReported(task, upstream) && claims(findings, task, upstream),
    )
    if (!claimed)
      say('unreported', upstream.id, `${upstream.outcome}: no task of ours speaks of it`)
  }
}

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
function claims(
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
function isReported(task: LoggedTask, upstream: Accepted): boolean {
  return isOpen(task) || task.possibleCostLeak || (upstream.gone && task.neverAccepted)
}

/** Why a success may stand unsettled: only what nobody could have told, and what says so. */
function excuseOf(
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
