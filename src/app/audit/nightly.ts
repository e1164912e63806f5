import type { Queryable } from '../../../projections/engine/queryable.ts'
import { hasLeader } from '../../../projections/engine/leadership.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type DailyTime, lastDailyTime } from '../../kernel/daily-time.ts'
import type { Log } from '../../kernel/log.ts'
import type { AuditReport } from './audit.ts'
import { readLastAudit } from './last-audit.ts'

/** An audit each night, in one process of all that have background work. */

/** The lock whose holder audits. */
export const NIGHTLY_AUDIT = 'nightly audit'
/** Interval at which it is looked whether an audit is due. */
const IDLE_MS = 60_000
/** Longest rest after an audit that could not end. */
const LONGEST_REST_MS = 600_000
/** An audit that a stopped gateway has missed begins this long after a start, when callers have been served again. */
const SETTLE_MS = 600_000
/** Findings that are named in the log of the gateway. */
const NAMED_FINDINGS = 20

/** The end of an audit, as the process that made it says. */
export interface NightlyReport extends Pick<
  AuditReport,
  'position' | 'events' | 'resumedFrom' | 'findingsInAll'
> {
  /** Where some of the findings are; "tollgate audit" has the values. */
  readonly findings: readonly Pick<
    AuditReport['findings'][number],
    'code' | 'table' | 'key' | 'position'
  >[]
}

/** `led`: another process audits. */
export type NightlyOutcome = { readonly report: NightlyReport } | 'led'

export function nightlyReport(report: AuditReport): NightlyReport {
  const { position, events, resumedFrom, findingsInAll } = report
  const findings = report.findings
    .slice(0, NAMED_FINDINGS)
    .map(({ code, table, key, position: at }) => ({ code, table, key, position: at }))
  return { position, events, resumedFrom, findingsInAll, findings }
}

interface NightlyAuditDeps {
  readonly pool: Queryable
  readonly at: DailyTime
  readonly clock: Clock
  /** Measures durations. */
  readonly monotonic: Clock
  readonly logger: Log
  /** Makes an audit; undefined once the signal aborts. @throws when it could not end */
  readonly run: (signal: AbortSignal) => Promise<NightlyOutcome | undefined>
}

/**
 * Audits where the last audit, of any process or of a person, ended before the last time of the night. So a night that
 * the gateway was stopped is made up for, and a clock that is set causes one audit more at most.
 */
export function nightlyAuditPolicies(deps: NightlyAuditDeps) {
  const { pool, at, clock, monotonic, logger, run } = deps
  const startedMs = monotonic.nowMs()
  /** The night whose audit this process has made: where the record of it failed, there is no other. */
  let madeForMs: number | undefined
  const isDue = async (sinceMs: number): Promise<boolean> => {
    const last = await readLastAudit(pool)
    const isOld = last === undefined || last.ageSeconds * 1_000 > sinceMs
    return isOld && !(await hasLeader(pool, NIGHTLY_AUDIT))
  }
  const round = async (signal: AbortSignal): Promise<'idle'> => {
    const nowMs = clock.nowMs()
    const nightMs = lastDailyTime(at, nowMs)
    const isEarly = monotonic.nowMs() - startedMs < SETTLE_MS
    if (isEarly || nightMs === madeForMs || !(await isDue(nowMs - nightMs))) return 'idle'
    const outcome = await run(signal)
    if (outcome === undefined || outcome === 'led') return 'idle'
    madeForMs = nightMs
    logReport(logger, outcome.report)
    return 'idle'
  }
  const policy = { name: 'audit', idleMs: IDLE_MS, longestRestMs: LONGEST_REST_MS, round }
  return { policies: [policy] }
}

function logReport(logger: Log, { findings, ...report }: NightlyReport): void {
  if (report.findingsInAll === 0)
    return logger.info(report, 'the nightly audit found no difference')
  for (const finding of findings) logger.error(finding, 'the nightly audit found a difference')
  logger.error(
    report,
    'the nightly audit found differences: "tollgate audit" names each with both values',
  )
}
