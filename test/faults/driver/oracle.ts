import type { LedgerLine } from './ledger.ts'
import { type ImageFindings, judgeImages } from './images/oracle.ts'
import { isOpen, type LoggedTask } from './log-reader.ts'
import { expectedCurrency, expectedPico, toPico } from './prices.ts'
import type { Accepted } from './sandbox.ts'
import type { Difference, Intended, Witness } from './witness.ts'

/** Compares what upstream accepted with what the log and the ledger say of it. */

/**
 * `present`: open tasks are allowed by rule. `past-every-absence`: none of which upstream certainly
 * has nothing. `past-every-deadline`: none at all.
 */
export type When = 'present' | 'past-every-absence' | 'past-every-deadline'

export interface Findings {
  readonly accepted: readonly Accepted[]
  readonly tasks: ReadonlyMap<string, LoggedTask>
  /** Of these tasks. */
  readonly lines: readonly LedgerLine[]
  readonly images: ImageFindings
  readonly witness: Witness
  readonly when: When
}

type Say = (code: string, subject: string, message: string) => void

/** Every difference there is; an empty list is what a run is for. */
export function judge(findings: Findings): readonly Difference[] {
  const differences: Difference[] = []
  const say: Say = (code, subject, message) => differences.push({ code, subject, message })
  judgeStreams([...findings.tasks.values(), ...findings.images.tasks.values()], say)
  const owners = ownersOf(findings, say)
  judgeUpstream(findings, owners, say)
  judgeLedger(findings, owners, say)
  judgeGivenUp(findings, say)
  judgeOpen(findings, owners, say)
  return [...differences, ...judgeImages(findings.images)]
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
function ownersOf({ tasks, accepted }: Findings, say: Say): ReadonlyMap<string, LoggedTask> {
  const owners = new Map<string, LoggedTask>()
  const known = new Map(accepted.map((one) => [one.id, one]))
  for (const task of tasks.values()) {
    const { nativeId, platformId, marker } = task
    if (nativeId === undefined) continue
    const other = owners.get(nativeId)
    if (other) say('owned_twice', nativeId, `by ${other.platformId} and ${platformId}`)
    owners.set(nativeId, task)
    const upstream = known.get(nativeId)
    if (upstream === undefined) say('made_up', platformId, `${nativeId} was never accepted`)
    else if (upstream.safety_identifier !== marker)
      say('wrong_owner', nativeId, `${platformId} did not send its identifier`)
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
    const told = [upstream.usage, upstream.usage_later].flatMap((usage) => usage ?? [])
    if (!told.some(({ completion_tokens: tokens }) => tokens === settlement.tokens))
      say('wrong_usage', upstream.id, `settled ${settlement.tokens} tokens`)
    const amount = expectedPico(intended.priced, settlement.tokens)
    if (toPico(settlement.amount) !== amount)
      say('wrong_amount', upstream.id, `settled ${settlement.amount}, expected ${amount}e-12`)
    if (settlement.currency !== expectedCurrency(intended.priced))
      say('wrong_currency', upstream.id, settlement.currency)
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

/**
 * Whether a task that was sent as upstream has it says that it may be there. A record that upstream
 * lost before any list showed it is to everybody as one that never was: its task may be given up.
 */
function isReported(task: LoggedTask, upstream: Accepted): boolean {
  return isOpen(task) || task.possibleCostLeak || (upstream.gone && task.neverAccepted)
}

/** Why a success may stand unsettled: only what nobody could have told, and what says so. */
function excuseOf(
  { tasks, accepted }: Findings,
  owners: ReadonlyMap<string, LoggedTask>,
  upstream: Accepted,
  owner: LoggedTask | undefined,
): string | undefined {
  const reported = (task: LoggedTask): boolean => isReported(task, upstream)
  if (owner !== undefined)
    return upstream.gone && reported(owner)
      ? 'its record vanished before its usage was told'
      : undefined
  const claimants = [...tasks.values()].filter(
    (task) =>
      task.marker === upstream.safety_identifier &&
      task.nativeId === undefined &&
      !task.refused &&
      reported(task),
  )
  const [claimant] = claimants
  if (claimant === undefined) return undefined
  if (upstream.gone) return 'its record vanished before it could be found'
  if (claimant.markerIsOurs) return undefined
  const likewise = accepted.filter(
    (one) => !owners.has(one.id) && one.safety_identifier === upstream.safety_identifier,
  )
  const ambiguous = claimants.length > 1 || likewise.length > 1
  return ambiguous ? 'the caller’s own identifier does not tell it from others' : undefined
}

/** The ledger holds exactly the lines of the settlements, and those nothing but successes. */
function judgeLedger(findings: Findings, owners: ReadonlyMap<string, LoggedTask>, say: Say): void {
  const expected = new Map<string, string>()
  for (const { platformId, settlements } of findings.tasks.values())
    for (const { nativeId, lines, currency } of settlements)
      for (const [index, line] of lines.entries())
        expected.set(
          `${platformId}:${index + 1}`,
          [nativeId, line.sku, line.quantity, currency, toPico(line.amount)].join(' '),
        )
  const successes = new Map(
    findings.accepted.filter((one) => one.success).map((one) => [one.id, one]),
  )
  for (const line of findings.lines) {
    const told = [line.native_id, line.sku, line.quantity, line.currency, toPico(line.amount)].join(
      ' ',
    )
    const should = expected.get(line.line_id)
    if (should === undefined) say('line_unexplained', line.line_id, told)
    else if (should !== told) say('line_differs', line.line_id, `${told} instead of ${should}`)
    expected.delete(line.line_id)
    if (!successes.has(line.native_id ?? '')) say('line_in_vain', line.line_id, told)
    if (owners.get(line.native_id ?? '')?.model !== line.model)
      say('line_differs', line.line_id, `model ${line.model}`)
  }
  for (const [id, line] of expected) say('line_missing', id, line)
}

/** P5: only what upstream never had is given up as that, and only by a marker of our own. */
function judgeGivenUp({ tasks, accepted }: Findings, say: Say): void {
  const markers = new Map(
    accepted.flatMap((one) => (one.gone ? [] : [[one.safety_identifier, one.id] as const])),
  )
  for (const { platformId, neverAccepted, marker, markerIsOurs } of tasks.values()) {
    if (!neverAccepted) continue
    const id = markers.get(marker)
    if (!markerIsOurs) say('given_up_in_doubt', platformId, 'its marker is its caller’s own')
    else if (id !== undefined) say('given_up_wrongly', platformId, `accepted as ${id}`)
  }
}

/** What is still open must be open for a reason; past every deadline there is none. */
function judgeOpen(findings: Findings, owners: ReadonlyMap<string, LoggedTask>, say: Say): void {
  const known = new Map(findings.accepted.map((one) => [one.id, one]))
  const sent = new Set(findings.accepted.map((one) => one.safety_identifier))
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
    if (findings.when === 'past-every-absence' && task.markerIsOurs && !sent.has(task.marker))
      say('absence_unseen', platformId, 'upstream never had it')
    if (upstream === undefined) continue
    const ended = upstream.finished && !upstream.gone && !(upstream.success && !upstream.usage)
    if (ended) say('end_unseen', platformId, `${upstream.id} is ${upstream.outcome} upstream`)
  }
  for (const upstream of findings.accepted) {
    if (owners.has(upstream.id)) continue
    const claimed = [...findings.tasks.values()].some(
      (task) => task.marker === upstream.safety_identifier && isReported(task, upstream),
    )
    if (!claimed)
      say('unreported', upstream.id, `${upstream.outcome}: no task of ours speaks of it`)
  }
}
