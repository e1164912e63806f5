import { type AssetWork, openVerifications } from '../../../../projections/assets/query.ts'
import { monotonicClock, toTimestamp } from '../../../kernel/clock.ts'
import { createLeases, createRound } from '../../queue/leases.ts'
import type { Policy } from '../../queue/policy-loop.ts'
import { recallStray } from '../../queue/tables.ts'
import type { PolicySet, WorkerSettings } from '../../queue/worker.ts'
import type { Channel } from '../../ports/provider.ts'
import type { AssetDeps } from '../deps.ts'
import { byPolicy } from '../asker.ts'
import { onVerification } from '../streams.ts'
import { personGroup } from '../verify.ts'
import { farthestWorkMs, FIND_AFTER_MS, nextWorkMs } from './intervals.ts'
import { type AssetQuery, assetWork, forgetAssetWork, leaseAssetWork } from './asset-work.ts'
import { createEnded } from './look.ts'
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
export function assetPolicies(deps: AssetDeps, settings: WorkerSettings): PolicySet {
  const ofChannels = deps.channels.all
    .filter(({ library }) => library !== undefined)
    .map((channel): Policy => ({
      name: 'assets',
      idleMs: WORK_IDLE_MS,
      longestIdleMs: LONGEST_WORK_IDLE_MS,
      round: workRound(deps, channel, settings),
    }))
  const verifications: Policy = {
    name: 'verifications',
    idleMs: VERIFY_IDLE_MS,
    round: () => verificationRound(deps, settings.scale),
  }
  return { policies: ofChannels.length === 0 ? [] : [...ofChannels, verifications] }
}

/** A look at what is due at one account, round by round. */
function workRound(
  deps: AssetDeps,
  channel: Channel,
  { owner, scale }: WorkerSettings,
): Policy['round'] {
  const startedMs = monotonicClock.nowMs()
  const ended = createEnded()
  const again = (work: AssetWork, nowMs: number) => {
    const { id, kind, attempts } = work
    const dueAtMs = nextWorkMs(work, nowMs, scale)
    return { id, attempts: kind === 'look' ? 0 : attempts, dueAtMs }
  }
  return createRound({
    leases: createLeases<AssetWork, AssetQuery, never>(deps.pool, {
      table: assetWork,
      owner,
      lane: channel.id,
      leaseMs: LEASE_MS,
      lease: leaseAssetWork,
      idOf: ({ id }) => id,
    }),
    query: () => {
      const nowMs = deps.clock.nowMs()
      return { nowMs, limit: LEASE_LIMIT, askedBeforeMs: nowMs - FIND_AFTER_MS * scale }
    },
    work: async (works, signal) => {
      const sinceMs = monotonicClock.nowMs() - startedMs
      const isWhole = sinceMs % (WHOLE_LOOK_EVERY_MS * scale) < WHOLE_LOOK_MS * scale
      const lookSignal = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)])
      const look = { ended, isWhole, signal: lookSignal }
      const over = await doWork(deps, channel, works, { signal, look })
      const doneMs = deps.clock.nowMs()
      // What is over may have something else to do at any time, once the read model shows that it is over.
      const projectedMs = doneMs + PROJECTED_MS * scale
      return {
        again: works.map((work) =>
          over.has(work) ? { id: work.id, attempts: 0, dueAtMs: projectedMs } : again(work, doneMs),
        ),
      }
    },
    putOff: (work) => again(work, deps.clock.nowMs()),
  })
}

async function verificationRound(deps: AssetDeps, scale: number): Promise<'more' | 'idle'> {
  const nowMs = deps.clock.nowMs()
  await forgetAssetWork(deps.pool, nowMs - FORGET_AFTER_MS)
  const ahead = { leaseMs: LEASE_MS, waitMs: farthestWorkMs(scale) }
  // Rows of a release that knew no lanes have none.
  const lanes = ['', ...deps.channels.all.map(({ id }) => id)]
  await recallStray(deps.pool, assetWork, nowMs, Object.fromEntries(lanes.map((id) => [id, ahead])))
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
