import {
  forgetAssetWork,
  leaseAssetWork,
  openVerifications,
  recallAssetWork,
  rescheduleAssetWork,
} from '../../../../projections/assets/query.ts'
import { monotonicClock, toTimestamp } from '../../../kernel/clock.ts'
import type { Policy, RoundOutcome } from '../../queue/policy-loop.ts'
import type { Channel } from '../../ports/provider.ts'
import type { AssetDeps } from '../deps.ts'
import { byPolicy } from '../asker.ts'
import { onVerification } from '../streams.ts'
import { personGroup } from '../verify.ts'
import { farthestWorkMs, FIND_AFTER_MS, nextWorkMs } from './intervals.ts'
import { createEnded, type LookOptions } from './look.ts'
import { doWork } from './work.ts'

/** Of one account in one round. */
const LEASE_LIMIT = 10_000
const LEASE_MS = 120_000
/** A round looks no longer, so that its leases are not over before it is; what it leaves is due again soon. */
const LOOK_MS = LEASE_MS / 2
/** So often each that is due is looked at, also those that no list of what has ended shows … */
const WHOLE_LOOK_EVERY_MS = 60_000
/** … for so long, in which most are due. */
const WHOLE_LOOK_MS = 15_000
/** By then the read model shows what was just written. */
const PROJECTED_MS = 1_000
const WORK_IDLE_MS = 500
const LONGEST_WORK_IDLE_MS = 2_000
const VERIFY_IDLE_MS = 5_000
const VERIFY_LIMIT = 500
/** A group that is still missing so long after its verification was left by a process that died. */
const GROUP_MISSING_MS = 30_000
/** Older ones have theirs; if not, it is made when their result is asked for again. */
const GROUP_LOOKED_FOR_MS = 7 * 24 * 3_600_000
/** A schedule that is so old is of what has ended. */
const FORGET_AFTER_MS = 3_600_000

/**
 * What the workers do for the library, beside their other policies: each account has a loop of its own, so
 * that one that hangs holds up no other. Leases keep replicas apart.
 */
export function assetPolicies(deps: AssetDeps, scale: number): readonly Policy[] {
  const ofChannels = deps.channels.all
    .filter(({ library }) => library !== undefined)
    .map((channel): Policy => {
      const startedMs = monotonicClock.nowMs()
      const ended = createEnded()
      const schedule = createSchedule(deps)
      return {
        name: 'assets',
        idleMs: WORK_IDLE_MS,
        longestIdleMs: LONGEST_WORK_IDLE_MS,
        round: (signal) => {
          const sinceMs = monotonicClock.nowMs() - startedMs
          const isWhole = sinceMs % (WHOLE_LOOK_EVERY_MS * scale) < WHOLE_LOOK_MS * scale
          return workRound(deps, channel, { scale, ended, isWhole, signal, schedule })
        },
      }
    })
  const verifications: Policy = {
    name: 'verifications',
    idleMs: VERIFY_IDLE_MS,
    round: () => verificationRound(deps, scale),
  }
  return ofChannels.length === 0 ? [] : [...ofChannels, verifications]
}

type Rescheduled = Parameters<typeof rescheduleAssetWork>[1]

/** Writes down when leased work is due next. */
interface Schedule {
  /** What could not be written is kept for `catchUp`. @throws what Postgres does */
  readonly write: (items: Rescheduled) => Promise<void>
  /** Writes what could not be written before: it does not wait for its lease to end. @throws likewise */
  readonly catchUp: () => Promise<void>
}

function createSchedule({ pool }: Pick<AssetDeps, 'pool'>): Schedule {
  let unwritten: Rescheduled = []
  const write = async (items: Rescheduled): Promise<void> => {
    unwritten = items
    await rescheduleAssetWork(pool, items)
    unwritten = []
  }
  return { write, catchUp: () => write(unwritten) }
}

async function workRound(
  deps: AssetDeps,
  channel: Channel,
  {
    scale,
    signal,
    schedule,
    ...how
  }: LookOptions & { readonly scale: number; readonly schedule: Schedule },
): Promise<RoundOutcome> {
  await schedule.catchUp()
  const nowMs = deps.clock.nowMs()
  const works = await leaseAssetWork(deps.pool, {
    channelId: channel.id,
    nowMs,
    leaseMs: LEASE_MS,
    limit: LEASE_LIMIT,
    askedBeforeMs: nowMs - FIND_AFTER_MS * scale,
  })
  if (works.length === 0) return 'idle'
  const lookSignal = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)])
  const look = { ...how, signal: lookSignal }
  const over = await doWork(deps, channel, works, { signal, look })
  const doneMs = deps.clock.nowMs()
  await schedule.write(
    works.map((work) => {
      const { id, kind, attempts } = work
      // What is over may have something else to do at any time, once the read model shows that it is over.
      if (over.has(work)) return { id, attempts: 0, dueAtMs: doneMs + PROJECTED_MS * scale }
      const dueAtMs = nextWorkMs(work, doneMs, scale)
      return { id, attempts: kind === 'look' ? 0 : attempts, dueAtMs }
    }),
  )
  return works.length === LEASE_LIMIT ? 'more' : 'some'
}

async function verificationRound(deps: AssetDeps, scale: number): Promise<'more' | 'idle'> {
  const nowMs = deps.clock.nowMs()
  await forgetAssetWork(deps.pool, nowMs - FORGET_AFTER_MS)
  await recallAssetWork(deps.pool, nowMs, Math.max(LEASE_MS, farthestWorkMs(scale)))
  const open = await openVerifications(deps.pool, {
    expiredAtMs: nowMs,
    confirmedFromMs: nowMs - GROUP_LOOKED_FOR_MS,
    confirmedBeforeMs: nowMs - GROUP_MISSING_MS * scale,
    limit: VERIFY_LIMIT,
  })
  for (const { verificationId, tenantId } of open) {
    const command = { kind: 'expire', at: toTimestamp(deps.clock.nowMs()) } as const
    const doing = byPolicy(deps, tenantId)
    await personGroup(deps, await onVerification(deps, verificationId, command, doing))
  }
  return open.length >= VERIFY_LIMIT ? 'more' : 'idle'
}
