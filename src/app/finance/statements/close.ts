import { isDeepStrictEqual } from 'node:util'
import { waitForPosition } from '../../../../projections/engine/wait.ts'
import { statementDecider } from '../../../domain/statement/decider.ts'
import {
  type PeriodClosed,
  periodIdOf,
  type StatementEvent,
  statementStream,
} from '../../../domain/statement/events.ts'
import { executeCommand } from '../../../eventlog/log/execute.ts'
import type { RecordedEvent } from '../../../eventlog/log/types.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import { checkpointText, type NoteSigner } from '../../../kernel/signed-note.ts'
import type { CrashPoint } from '../../crash-points.ts'
import { type ClosingAccount, readClosingAccount } from './closing-account.ts'
import { closeLeaf, partyRows } from './leaves.ts'
import {
  blockersNow,
  figuresAt,
  type Preview,
  type PreviewDeps,
  type Previewed,
  requireNext,
} from './preview.ts'
import { storeTree } from './tiles.ts'
import type { BuiltTree, SummedPostings, TreeJob } from './tree.ts'
import {
  type Blocker,
  type CloseInput,
  type ClosedPeriod,
  type MonthOf,
  type PassableCode,
  passableCodes,
  type StatementContext,
} from './types.ts'

/** Closes months: figures, tree, signature and one append. */

/** Another close of the tenant, in another currency, may be first: this often it is made again. */
const MAX_ATTEMPTS = 5
/** Who closes a month waits this long to see it. */
const SHOWN_MS = 3_000

export interface CloseDeps extends PreviewDeps {
  /** Signs statements, by the name `<issuer>/statements`; undefined where the issuer has no name. */
  readonly signer: NoteSigner | undefined
  /** Builds a tree, in a process that callers do not wait for. */
  readonly buildTree: (job: TreeJob) => Promise<BuiltTree>
  readonly crashPoint: CrashPoint
}

export interface Closed {
  readonly period: ClosedPeriod
  readonly created: boolean
}

/** Closes a month, or finds the close that stands. @throws the codes of `Statements.close` */
export async function closeMonth(
  deps: CloseDeps,
  input: CloseInput,
  context: StatementContext,
): Promise<Closed> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const closed = await closeOnce(deps, input, context)
    if (closed !== undefined) return closed
  }
  throw new DomainError('overloaded', 'The tenant has other closes at this moment', {})
}

/** Undefined where another close or void of the tenant was first. */
async function closeOnce(
  deps: CloseDeps,
  { despite = [], reason, ...of }: CloseInput,
  context: StatementContext,
): Promise<Closed | undefined> {
  const account = await readClosingAccount(deps, of)
  const stands = standingClose(account, of)
  if (stands !== undefined) return { period: stands, created: false }
  const why = reasonFor(despite, reason)
  if (of.month < account.next.month) requireNext(account, of)
  const { asOf, blockers } = await blockersNow(deps, account, of)
  requireUnblocked(of, blockers, despite)
  const preview = await figuresAt(deps, account, of, asOf)
  const closed = await signed(deps, account, preview, {
    // A blocker that was gone by then is not passed.
    ...(blockers.length > 0 && why !== undefined
      ? { despite: { codes: blockers.map(({ code }) => code), reason: why } }
      : {}),
    ...(context.by === undefined ? {} : { by: context.by }),
  })
  return append(deps, account, closed, context)
}

/** The close of a month that stands, with all members of its event. */
export function standingClose(
  { standing, closes }: ClosingAccount,
  { month }: Pick<MonthOf, 'month'>,
): ClosedPeriod | undefined {
  const found = standing.find((period) => period.month === month)
  return found && closes.get(periodIdOf(found))
}

/** @throws DomainError `invalid_request` for blockers without a reason, or for others than the audit's */
function reasonFor(
  despite: readonly PassableCode[],
  reason: string | undefined,
): string | undefined {
  if (despite.length === 0) return undefined
  if (!despite.every((code) => passableCodes.includes(code)))
    throw new DomainError('invalid_request', `despite must be ${passableCodes.join(' or ')}`, {
      param: 'despite',
    })
  if (reason === undefined || reason.trim() === '')
    throw new DomainError('invalid_request', 'reason is missing: despite needs one', {
      param: 'reason',
    })
  return reason
}

/** @throws DomainError `period_blocked` with all blockers but those that are passed */
function requireUnblocked(
  { month }: MonthOf,
  all: readonly Blocker[],
  despite: readonly PassableCode[],
): void {
  const passed = new Set<string>(despite)
  const blockers = all.filter(({ code }) => !passed.has(code))
  if (blockers.length === 0) return
  const why = blockers.map(({ message }) => message).join('; ')
  throw new DomainError('period_blocked', `${month} cannot be closed yet: ${why}`, {
    month,
    blockers,
  })
}

interface SignedPeriod {
  readonly data: PeriodClosed
  readonly tree: BuiltTree
}

/** Builds the tree of a period, compares it with the figures, and signs its root. */
async function signed(
  deps: CloseDeps,
  { profile, issuer }: ClosingAccount,
  { period, bounds }: Preview,
  more: Pick<PeriodClosed, 'despite' | 'by'>,
): Promise<SignedPeriod> {
  const { issuerName, signer } = deps
  // A blocker that nothing passes.
  if (issuer === undefined || issuerName === undefined || signer === undefined)
    throw new Error('there is no issuer')
  const first = closeLeaf(period, partyRows(issuer, profile))
  const { asOf, since, ...of } = bounds
  const tree = await deps.buildTree({ ...of, asOf: String(asOf), since: String(since), first })
  requireSame(period, tree.summed)
  const { tenantId, currency, month, attempt } = period
  const origin = [issuerName, tenantId, currency, month, attempt].join('/')
  const root = Buffer.from(tree.root, 'base64')
  const checkpoint = signer.sign(checkpointText({ origin, size: tree.size, root }))
  const revisions = { profile: profile.revision, issuer: issuer.revision }
  const closedAt = toTimestamp(deps.clock.nowMs())
  return { data: { ...period, ...revisions, root: tree.root, checkpoint, ...more, closedAt }, tree }
}

const summedMembers = [
  'granted',
  'adjusted',
  'expired',
  'settled',
  'lines',
  'postings',
  'late',
  'sums',
] as const satisfies readonly (keyof SummedPostings)[]

/** @throws DomainError `period_sum` where the postings do not give the figures, to the last digit */
function requireSame(period: Previewed, summed: SummedPostings): void {
  const different = summedMembers.filter((name) => !isDeepStrictEqual(period[name], summed[name]))
  if (different.length === 0) return
  throw new DomainError(
    'period_sum',
    `${period.month} has other postings than its totals say, in ${different.join(', ')}: run \`tollgate audit\``,
    { month: period.month },
  )
}

/** Appends a close at the revision that was read, and stores what its tree was built of. */
async function append(
  deps: CloseDeps,
  account: ClosingAccount,
  { data, tree }: SignedPeriod,
  context: StatementContext,
): Promise<Closed | undefined> {
  const { db, crashPoint } = deps
  crashPoint('close.before-append')
  const appended = await execute(deps, account, data, context)
  crashPoint('close.after-append')
  const event = appended && (await eventOf(deps, data, appended.revision))
  if (event === undefined) return undefined
  const { tenantId, root, closedAt } = event.data
  const isSame = root === data.root && closedAt === data.closedAt
  if (isSame) await storeTree(db, { tenantId, periodId: periodIdOf(data) }, tree)
  crashPoint('close.after-tiles')
  if (appended?.position !== undefined)
    await waitForPosition(db, 'statements', appended.position, SHOWN_MS).catch(() => false)
  // A second closer finds the event of the first, whose request was another one.
  const created = isSame && event.metadata.correlationId === context.correlationId
  return { period: event.data, created }
}

/**
 * The close as the log has it: to an event store two closers at once append the same event, and it confirms the second
 * one without looking at its data.
 */
async function eventOf(
  { log }: CloseDeps,
  { tenantId }: PeriodClosed,
  revision: bigint,
): Promise<RecordedEvent<Extract<StatementEvent, { readonly type: 'PeriodClosed' }>> | undefined> {
  const [event] = await log.readStream(statementStream(tenantId), { from: revision, limit: 1 })
  return event?.type === 'PeriodClosed' ? event : undefined
}

async function execute(
  { log }: CloseDeps,
  { state, revision, profile }: ClosingAccount,
  data: PeriodClosed,
  { correlationId, actor }: StatementContext,
) {
  const { tenantId } = data
  try {
    const { events, position } = await executeCommand({
      log,
      stream: statementStream(tenantId),
      decider: statementDecider,
      command: { kind: 'close', data, graceHours: profile.graceHours },
      commandId: `close/${periodIdOf(data)}`,
      metadata: { correlationId, actor, tenantId },
      known: revision === undefined ? 'none' : { state, revision },
    })
    const [event] = events
    return event === undefined ? undefined : { revision: event.revision, position }
  } catch (error) {
    if (!isDomainError(error, 'period_not_next')) throw error
    return undefined
  }
}
