import {
  judgeBill,
  judgeLedger,
  type LedgerLine,
  type LoggedSettlement,
  type Say,
} from '../bill.ts'
import { type LoggedCall, type LoggedEvent, streamsOf } from '../log-reader.ts'
import { type CallWitness, mayBeLost, type Ordered, owedFor } from './witness.ts'
import type { UpstreamCall } from '../upstream-record.ts'
import type { Difference } from '../witness.ts'

/** One asynchronous order as its own stream tells it. */
export interface LoggedImageTask {
  readonly platformId: string
  readonly events: readonly LoggedEvent[]
  readonly requestId: string
  readonly requestedAtMs: number
  readonly started: boolean
  /** Why nobody can say what became of it. */
  readonly uncertain: string | undefined
  /** Undefined while it is open. */
  readonly end: 'succeeded' | 'failed' | 'expired' | undefined
  readonly possibleCostLeak: boolean
  readonly settlements: readonly LoggedSettlement[]
}

const ends: Readonly<Record<string, LoggedImageTask['end']>> = {
  TaskSucceeded: 'succeeded',
  TaskFailed: 'failed',
  TaskExpired: 'expired',
}

/** Every asynchronous order of a log by platform id. */
export function imageTasksOf(log: readonly LoggedEvent[]): ReadonlyMap<string, LoggedImageTask> {
  const streams = [...streamsOf(log, 'task-')].filter(([id]) => id.startsWith('image_'))
  return new Map(streams.map(([id, events]) => [id, fold(id, events)]))
}

function fold(platformId: string, events: readonly LoggedEvent[]): LoggedImageTask {
  const of = (type: string) => events.find((one) => one.type === type)?.data
  const requested = of('TaskRequested') ?? {}
  const uncertain = of('TaskSubmissionUncertain')
  const last = events.findLast(({ type }) => Object.hasOwn(ends, type))
  return {
    platformId,
    events,
    requestId: String(requested['requestId']),
    requestedAtMs: Date.parse(String(requested['requestedAt'])),
    started: of('TaskStarted') !== undefined,
    uncertain: uncertain && String(uncertain['reason']),
    end: last === undefined ? undefined : ends[last.type],
    possibleCostLeak: last?.data['possibleCostLeak'] === true,
    settlements: events
      .filter(({ type }) => type === 'TaskSettled')
      .map(({ data }) => data['settlement'] as LoggedSettlement),
  }
}

/** Compares what upstream made in calls with what the log and the ledger say of it. */

export interface CallFindings {
  readonly accepted: readonly UpstreamCall[]
  /** Markers by request id, as upstream was told them. */
  readonly markers: ReadonlyMap<string, string>
  /** How often a file arrived to be kept, by its marker. */
  readonly uploads: ReadonlyMap<string, number>
  readonly calls: readonly LoggedCall[]
  readonly tasks: ReadonlyMap<string, LoggedImageTask>
  /** Of calls and of these tasks. */
  readonly lines: readonly LedgerLine[]
  readonly witness: CallWitness
  /** When gateways died, Unix milliseconds. */
  readonly deathsMs: readonly number[]
  /** Whether what nobody knows the end of may still be waited for. */
  readonly mayBeOpen: boolean
}

/** No call takes longer from its acceptance to its settlement. */
const LONGEST_CALL_MS = 15_000
const CLOCKS_MS = 1_000

/** What the log has of the order of one marker. */
interface Bills {
  readonly calls: ReadonlyMap<string, LoggedCall>
  readonly failed: ReadonlySet<string>
  readonly tasks: ReadonlyMap<string, LoggedImageTask>
}

/** Every difference there is. */
export function judgeCalls(findings: CallFindings): readonly Difference[] {
  const differences: Difference[] = []
  const say: Say = (code, subject, message) => differences.push({ code, subject, message })
  const accepted = acceptedByMarker(findings, say)
  const bills = billsOf(findings, accepted, say)
  for (const [marker, upstream] of accepted) {
    const ordered = findings.witness.ordered.get(marker)
    if (ordered === undefined) say('unasked', marker, 'nobody asked for it')
    else if (ordered.order.way === 'async')
      judgeTask(findings, ordered, upstream, bills.tasks.get(marker), say)
    else judgeCall(findings, ordered, upstream, bills, say)
  }
  for (const ordered of findings.witness.ordered.values()) judgeTold(ordered, bills, say)
  judgeRepeated(findings, bills, say)
  judgeUploads(findings, say)
  judgeEnds(findings, accepted, bills, say)
  judgeLines(findings, say)
  return differences
}

/** Of what was sent again under its key, the call that succeeded: one that failed is made once more. */
function acceptedByMarker(
  { accepted, witness }: CallFindings,
  say: Say,
): ReadonlyMap<string, UpstreamCall> {
  const byMarker = new Map<string, UpstreamCall>()
  const onceMore = new Set<string>()
  for (const call of accepted) {
    const marker = call.client_marker ?? ''
    const before = byMarker.get(marker)
    const { sent = 1, order } = witness.ordered.get(marker) ?? {}
    const mayBeAgain = before !== undefined && order?.way !== 'async' && isUnanswered(before)
    const isAgain = sent > 1 || (mayBeAgain && !onceMore.has(marker))
    if (mayBeAgain) onceMore.add(marker)
    if (before !== undefined && !isAgain) say('sent_twice', marker, `accepted as ${call.id} again`)
    if (before === undefined || call.success || !isAgain) byMarker.set(marker, call)
  }
  return byMarker
}

/**
 * Whether upstream closed the connection without a byte of an answer: on a kept connection that looks as if it had
 * been closed before, and the gateway sends a call at once, but no task, once more.
 */
function isUnanswered({ ending, bytes_written: bytes }: UpstreamCall): boolean {
  return ending === 'cut' && bytes === 0
}

/**
 * Under a key a call is made once while its process lives, but for one whose failure was written down and
 * cost nothing. A call that its process died under frees the key, and the next request makes it again: the
 * bills say that one of them is charged at most.
 */
function judgeRepeated(findings: CallFindings, { failed }: Bills, say: Say): void {
  const { accepted, witness } = findings
  const made = new Map<string, number>()
  for (const call of accepted) {
    const { client_marker: marker, success } = call
    if (success && marker !== null && !diedUnder(findings, call))
      made.set(marker, (made.get(marker) ?? 0) + 1)
  }
  for (const [marker, { order, sent }] of witness.ordered) {
    const count = made.get(marker) ?? 0
    if (sent > 1 && order.way !== 'async' && count > 1 && !failed.has(marker))
      say('made_twice', marker, `was made ${count} times under its key`)
  }
}

/** Whether a process died while a call was made. */
function diedUnder({ deathsMs }: Pick<CallFindings, 'deathsMs'>, call: UpstreamCall): boolean {
  const acceptedMs = Date.parse(call.accepted_at)
  return deathsMs.some(
    (atMs) => atMs >= acceptedMs - CLOCKS_MS && atMs <= acceptedMs + LONGEST_CALL_MS,
  )
}

function billsOf(
  { calls, tasks, markers, witness }: CallFindings,
  accepted: ReadonlyMap<string, UpstreamCall>,
  say: Say,
): Bills {
  const told = new Map<string, string>()
  for (const { order, callIds, platformIds } of witness.ordered.values())
    for (const id of [...callIds, ...platformIds]) told.set(id, order.marker)
  const billed = new Map<string, LoggedCall>()
  const failed = new Set<string>()
  const seen = new Set<string>()
  for (const call of calls) {
    const { callId, requestId, type } = call
    if (seen.size === seen.add(callId).size) say('twice', callId, 'is written down twice')
    const marker = markers.get(requestId) ?? told.get(callId)
    if (type !== 'CallSettled') {
      if (marker !== undefined) failed.add(marker)
    } else if (marker === undefined || !accepted.has(marker))
      say('made_up', callId, 'is billed and was never accepted upstream')
    else {
      if (billed.has(marker)) say('billed_twice', marker, `as ${callId} again`)
      billed.set(marker, call)
    }
  }
  const begun = new Map<string, LoggedImageTask>()
  for (const task of tasks.values()) {
    const marker = markers.get(task.requestId) ?? told.get(task.platformId)
    if (marker === undefined) continue
    const other = begun.get(marker)
    if (other !== undefined)
      say('two_tasks', marker, `is ${other.platformId} and ${task.platformId}`)
    begun.set(marker, task)
  }
  return { calls: billed, failed, tasks: begun }
}

/** Whether exactly what is owed stands in a settlement. */
function judgeSettled(
  { order }: Ordered,
  upstream: UpstreamCall,
  settlement: LoggedSettlement,
  say: Say,
): void {
  if (upstream.success) judgeBill(order.marker, owedFor(order, upstream), settlement, say)
  else say('settled_in_vain', order.marker, 'failed upstream')
}

/** P3, P5: a call that was answered is settled before, and one that failed is free. */
function judgeCall(
  findings: CallFindings,
  ordered: Ordered,
  upstream: UpstreamCall,
  { calls, failed }: Bills,
  say: Say,
): void {
  const { order, delivered } = ordered
  const bill = calls.get(order.marker)
  if (bill?.settlement !== undefined) {
    judgeSettled(ordered, upstream, bill.settlement, say)
    return
  }
  if (!upstream.success || delivered || owedFor(order, upstream).length === 0) return
  // What cannot be kept under its key is withheld, and is not charged.
  if ((mayBeLost(order) || ordered.sent > 1) && failed.has(order.marker)) return
  if (!diedUnder(findings, upstream))
    say('unsettled', order.marker, `${upstream.model} was made, and its process lived`)
}

/** P1, P5: what was sent has a task that began before, and its success is settled or reported. */
function judgeTask(
  { mayBeOpen }: CallFindings,
  ordered: Ordered,
  upstream: UpstreamCall,
  task: LoggedImageTask | undefined,
  say: Say,
): void {
  const { marker } = ordered.order
  if (task === undefined) {
    say('unreported', marker, 'was sent, and no task of ours speaks of it')
    return
  }
  const { platformId, started, requestedAtMs, uncertain, end, possibleCostLeak } = task
  if (!started || Date.parse(upstream.accepted_at) < requestedAtMs - CLOCKS_MS)
    say('intent_too_late', platformId, 'was sent before it was started (P1)')
  const [settlement] = task.settlements
  if (settlement !== undefined) return judgeSettled(ordered, upstream, settlement, say)
  if (!upstream.success || owedFor(ordered.order, upstream).length === 0) return
  if (end === undefined) {
    if (uncertain === undefined || !mayBeOpen) say('end_unseen', platformId, 'was made upstream')
  } else if (!possibleCostLeak)
    say('leak_unreported', platformId, `${end} without a word of what was made`)
  // Where nothing is in doubt only what cannot be delivered is a failure.
  else if (end === 'failed' && !mayBeLost(ordered.order))
    say('unsettled', platformId, 'failed, and its pictures were whole')
}

/** What callers were told agrees with what is billed. */
function judgeTold(
  { order, callIds, delivered, refused, sent }: Ordered,
  bills: Bills,
  say: Say,
): void {
  const bill = bills.calls.get(order.marker)
  if (delivered && bill === undefined)
    say('delivered_unsettled', order.marker, 'was delivered and is not billed (P3)')
  // Of a request that was sent again, the refusal may have arrived and the answer that is billed been lost.
  const mayLackBilled = sent > 1 && !delivered
  if (bill !== undefined && callIds.size > 0 && !mayLackBilled && !callIds.has(bill.callId))
    say('wrong_id', order.marker, `told ${[...callIds].join(' ')}, billed as ${bill.callId}`)
  // Whether a call was written down may be unknown; input alone is billed with its refusal.
  // What a key was answered later says nothing of the first request.
  const isFree = sent <= 1 && refused !== undefined && !/^503 |no_image_generated/.test(refused)
  if (isFree && (bill?.settlement?.lines.length ?? 0) > 0)
    say('billed_though_refused', order.marker, `was told ${refused}`)
}

/** A file is sent on once, whatever becomes of its answer. */
function judgeUploads({ uploads, witness }: CallFindings, say: Say): void {
  for (const [marker, count] of uploads) {
    if (!witness.uploads.has(marker)) say('unasked', marker, 'nobody uploaded it')
    if (count > 1) say('sent_twice', marker, `arrived ${count} times`)
  }
}

/** Each order that was taken is there and comes to one end. */
function judgeEnds(
  { tasks, witness, mayBeOpen }: CallFindings,
  accepted: ReadonlyMap<string, UpstreamCall>,
  bills: Bills,
  say: Say,
): void {
  for (const { platformId, end, uncertain } of tasks.values())
    if (end === undefined && (uncertain === undefined || !mayBeOpen))
      say('still_open', platformId, uncertain ?? 'nothing is in doubt')
  for (const [marker, { platformId, settlements }] of bills.tasks)
    if (settlements.length > 0 && !accepted.has(marker))
      say('settled_in_vain', platformId, 'was never accepted upstream')
  for (const { order, platformIds } of witness.ordered.values()) {
    if (platformIds.size > 1) say('two_tasks', order.marker, [...platformIds].join(' '))
    for (const id of platformIds) if (!tasks.has(id)) say('id_lost', id, `told to ${order.marker}`)
  }
}

function judgeLines({ calls, tasks, lines }: CallFindings, say: Say): void {
  const ofCalls = calls.flatMap(({ callId, settlement }) =>
    settlement === undefined ? [] : [[callId, settlement] as const],
  )
  const ofTasks = [...tasks.values()].flatMap(({ platformId, settlements }) =>
    settlements.map((settlement) => [platformId, settlement] as const),
  )
  judgeLedger([...ofCalls, ...ofTasks], lines, say)
}
