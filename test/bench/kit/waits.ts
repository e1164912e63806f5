import type { PacedCall } from '../peers/paced-client.ts'
import type { Probed, ProbedCall, Span } from '../peers/gateway-probe.ts'

/**
 * Where a call waited, part by part, from the moment it was due to its answer. Each moment counts once: where
 * the gateway's thread was held, that is the reason, whatever else the call waited for meanwhile.
 */
export const REASONS = [
  'generator',
  'collection',
  'no core, gateway',
  'gateway at work',
  'no core, event store',
  'log',
  'Postgres',
  'refresh',
  'upstream',
  'sockets',
  'unexplained',
] as const
export type Reason = (typeof REASONS)[number]
/** Milliseconds by reason. */
export type Waits = Record<Reason, number>

/** A loop that is looked at each millisecond was held when a look comes this late. */
const HELD_US = 2_000

/** A stretch between two looks. */
interface Stretch {
  readonly span: Span
  readonly ownQueuedUs: number
  readonly storeQueuedUs: number
}

/** What happened in the gateway meanwhile, to be looked up by time. */
export interface Timeline {
  readonly stretches: readonly Stretch[]
  readonly collections: readonly Span[]
  readonly shared: readonly Span[]
}

export function timelineOf({ looks, collections, shared }: Probed): Timeline {
  const stretches = looks.slice(1).map(({ atUs, ...queued }, index): Stretch => {
    const fromUs = looks[index]?.atUs ?? atUs
    return { span: [fromUs, atUs], ...queued }
  })
  const byStart = (spans: readonly Span[]) => spans.toSorted(([a], [b]) => a - b)
  return { stretches, collections: byStart(collections), shared: byStart(shared) }
}

function overlapUs([from, to]: Span, [otherFrom, otherTo]: Span): number {
  return Math.max(0, Math.min(to, otherTo) - Math.max(from, otherFrom))
}

/** How much of a span some spans cover, which may overlap; they are ordered by their beginning. */
function coveredUs(span: Span, spans: readonly Span[]): number {
  let covered = 0
  let [fromUs] = span
  for (const [otherFrom, otherTo] of spans) {
    if (otherFrom >= span[1]) break
    const part = overlapUs([fromUs, span[1]], [otherFrom, otherTo])
    covered += part
    if (part > 0) fromUs = Math.max(fromUs, otherTo)
  }
  return covered
}

/** The stretches that a span touches; they follow each other. */
function touched(span: Span, stretches: readonly Stretch[]): readonly Stretch[] {
  let [low, high] = [0, stretches.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((stretches[middle]?.span[1] ?? 0) <= span[0]) low = middle + 1
    else high = middle
  }
  const near: Stretch[] = []
  for (let at = low; (stretches[at]?.span[0] ?? Infinity) < span[1]; at += 1) {
    const one = stretches[at]
    if (one !== undefined) near.push(one)
  }
  return near
}

function none(): Waits {
  return Object.fromEntries(REASONS.map((reason) => [reason, 0])) as Waits
}

/** Adds a span in which a call waited for something, less the time in which the gateway's thread was held. */
function add(waits: Waits, timeline: Timeline, span: Span, reason: Reason): void {
  let leftUs = Math.max(0, span[1] - span[0])
  const take = (as: Reason, us: number): void => {
    const taken = Math.min(leftUs, us)
    leftUs -= taken
    waits[as] += taken / 1_000
  }
  const near = touched(span, timeline.stretches)
  const lengthUs = (of: Span): number => of[1] - of[0]
  const queuedUs = (of: (one: Stretch) => number): number =>
    near.reduce((sum, one) => sum + of(one) * (overlapUs(span, one.span) / lengthUs(one.span)), 0)
  const heldUs = near
    .filter((one) => lengthUs(one.span) > HELD_US)
    .reduce((sum, one) => sum + overlapUs(span, one.span), 0)
  const collectedUs = coveredUs(span, timeline.collections)
  const ownQueuedUs = queuedUs((one) => one.ownQueuedUs)
  take('collection', collectedUs)
  take('no core, gateway', ownQueuedUs)
  take('gateway at work', Math.max(0, heldUs - collectedUs - ownQueuedUs))
  if (reason === 'log')
    take(
      'no core, event store',
      queuedUs((one) => one.storeQueuedUs),
    )
  take(reason, leftUs)
}

/** What is left of a span without others, which do not overlap each other. */
function without(span: Span, others: readonly Span[]): readonly Span[] {
  const left: Span[] = []
  let [fromUs] = span
  for (const [otherFrom, otherTo] of others) {
    if (otherFrom > fromUs) left.push([fromUs, Math.min(otherFrom, span[1])])
    fromUs = Math.max(fromUs, otherTo)
  }
  if (fromUs < span[1]) left.push([fromUs, span[1]])
  return left
}

/** Where one call waited. */
export function waitsOf(sent: PacedCall, inside: ProbedCall, timeline: Timeline): Waits {
  const waits = none()
  waits.generator = (sent.sentUs - sent.dueUs) / 1_000
  add(waits, timeline, [sent.sentUs, inside.startUs], 'sockets')
  const known = (['upstream', 'log', 'postgres'] as const)
    .flatMap((part) => inside[part].map((span) => ({ part, span })))
    .sort((a, b) => a.span[0] - b.span[0])
  let doneUs = inside.startUs
  for (const { part, span } of known) {
    // A statement may be sent while another is awaited.
    const next: Span = [Math.max(doneUs, span[0]), Math.min(span[1], inside.endUs)]
    doneUs = Math.max(doneUs, next[1])
    add(waits, timeline, next, part === 'postgres' ? 'Postgres' : part)
  }
  const [asked = inside.endUs] = inside.upstream[0] ?? []
  for (const gap of without(
    [inside.startUs, inside.endUs],
    known.map(({ span }) => span),
  )) {
    const sharedUs = gap[0] < asked ? coveredUs(gap, timeline.shared) : 0
    const cutUs = gap[0] + sharedUs
    add(waits, timeline, [gap[0], cutUs], 'refresh')
    // The call's own work is in it.
    add(waits, timeline, [cutUs, gap[1]], 'unexplained')
  }
  // The process may say that an answer is finished a little after the caller has it.
  add(waits, timeline, [Math.min(inside.endUs, sent.answeredUs), sent.answeredUs], 'sockets')
  return waits
}

/** Where some calls waited on average. */
export function meanOf(all: readonly Waits[]): Waits {
  const mean = none()
  for (const waits of all) for (const reason of REASONS) mean[reason] += waits[reason] / all.length
  return mean
}
