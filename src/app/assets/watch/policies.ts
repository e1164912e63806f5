import { allSettledOrThrow } from '../../../kernel/all-settled.ts'
import { type AssetWork, openVerifications } from '../../../../projections/assets/query.ts'
import { monotonicClock, toTimestamp } from '../../../kernel/clock.ts'
import { createLeases, createRound } from '../../queue/leases.ts'
import type { Policy } from '../../queue/policy-loop.ts'
import type { LaneLook } from '../../queue/lane-look.ts'
import type { SeenModels } from '../../queue/seen-models.ts'
import { makeStrayDue } from '../../queue/tables.ts'
import type { PolicySet, WorkerSettings } from '../../queue/worker.ts'
import type { Channel } from '../../ports/provider.ts'
import type { AssetDeps } from '../deps.ts'
import { policyContext } from '../actor.ts'
import { onVerification } from '../streams.ts'
import { personGroup } from '../verify.ts'
import { farthestWorkMs, FIND_AFTER_MS, nextWorkMs } from './intervals.ts'
import {
  type AssetQuery,
  assetWork,
  createAssetLook,
  hasAssetWork,
  forgetAssetWork,
  leaseAssetWork,
} from './asset-work.ts'
import { createEndedAssets } from './polling.ts'
import { doWork } from './work.ts'

/** For one account in one round. */
const LEASE_LIMIT = 10_000
const LEASE_MS = 120_000
/** A round ends before its leases do; work left undone is due again soon. */
const POLL_MS = LEASE_MS / 2
/** The pause after which each due asset is queried, also those that no list of ended ones shows. */
const FULL_POLL_EVERY_MS = 60_000
/** How long each due asset is queried: in this time most become due. */
const FULL_POLL_MS = 15_000
/** After this time the read model shows a fresh write. */
const PROJECTED_MS = 1_000
const WORK_IDLE_MS = 500
const LONGEST_WORK_IDLE_MS = 2_000
const VERIFY_IDLE_MS = 5_000
const VERIFY_LIMIT = 500
/** A group still missing this long after its verification was left by a process that died. */
const GROUP_MISSING_MS = 30_000
/** Older ones have their group; if not, the next query of their result creates it. */
const GROUP_SEARCH_MS = 7 * 24 * 3_600_000
/** A row this old belongs to ended work. */
const FORGET_AFTER_MS = 3_600_000

/**
 * The library's policies, which workers run beside the others. Each account has its own loop, so
 * that an account that hangs does not delay others. Leases keep replicas apart.
 */
export function assetPolicies(
  deps: AssetDeps & { readonly models?: SeenModels | undefined },
  settings: WorkerSettings,
): PolicySet {
  const hasWork = createAssetLook(deps.pool, deps.models)
  const ofChannels = deps.channels.all
    .filter(({ library }) => library !== undefined)
    .map((channel): Policy => ({
      name: 'assets',
      idleMs: WORK_IDLE_MS,
      longestIdleMs: LONGEST_WORK_IDLE_MS,
      round: workRound(deps, channel, hasWork, settings),
    }))
  const verifications: Policy = {
    name: 'verifications',
    idleMs: VERIFY_IDLE_MS,
    round: () => verificationRound(deps, settings.scale),
  }
  return { policies: ofChannels.length === 0 ? [] : [...ofChannels, verifications] }
}

/** One round of polls at one account. */
function workRound(
  deps: AssetDeps,
  channel: Channel,
  hasWork: LaneLook,
  { owner, scale }: WorkerSettings,
): Policy['round'] {
  const startedMs = monotonicClock.nowMs()
  const ended = createEndedAssets()
  const reschedule = (work: AssetWork, nowMs: number) => {
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
      lease: async (db, query) =>
        (await hasWork(query.lane, query.nowMs)) ? leaseAssetWork(db, query) : [],
      idOf: ({ id }) => id,
    }),
    query: () => {
      const nowMs = deps.clock.nowMs()
      return { nowMs, limit: LEASE_LIMIT, askedBeforeMs: nowMs - FIND_AFTER_MS * scale }
    },
    work: async (works, signal) => {
      const sinceMs = monotonicClock.nowMs() - startedMs
      const isFull = sinceMs % (FULL_POLL_EVERY_MS * scale) < FULL_POLL_MS * scale
      const pollSignal = AbortSignal.any([signal, AbortSignal.timeout(POLL_MS)])
      const poll = { ended, isFull, signal: pollSignal }
      const over = await doWork(deps, channel, works, { signal, poll })
      const doneMs = deps.clock.nowMs()
      // Finished work may be followed by other work once the read model shows the end.
      const projectedMs = doneMs + PROJECTED_MS * scale
      return {
        again: works.map((work) =>
          over.has(work)
            ? { id: work.id, attempts: 0, dueAtMs: projectedMs }
            : reschedule(work, doneMs),
        ),
      }
    },
    putOff: (work) => reschedule(work, deps.clock.nowMs()),
  })
}

async function tidyAssetWork(deps: AssetDeps, nowMs: number, scale: number): Promise<void> {
  await forgetAssetWork(deps.pool, nowMs - FORGET_AFTER_MS)
  const ahead = { leaseMs: LEASE_MS, waitMs: farthestWorkMs(scale) }
  // Rows of a release without lanes have none.
  const lanes = ['', ...deps.channels.all.map(({ id }) => id)]
  await makeStrayDue(
    deps.pool,
    assetWork,
    nowMs,
    Object.fromEntries(lanes.map((id) => [id, ahead])),
  )
}

async function verificationRound(deps: AssetDeps, scale: number): Promise<'more' | 'idle'> {
  const nowMs = deps.clock.nowMs()
  // Mostly there is neither, and one wake-up is for both answers.
  const [hasWork, open] = await allSettledOrThrow([
    hasAssetWork(deps.pool),
    openVerifications(deps.pool, {
      expiredAtMs: nowMs,
      confirmedFromMs: nowMs - GROUP_SEARCH_MS,
      confirmedBeforeMs: nowMs - GROUP_MISSING_MS * scale,
      limit: VERIFY_LIMIT,
    }),
  ])
  if (hasWork) await tidyAssetWork(deps, nowMs, scale)
  for (const { verificationId, tenantId } of open) {
    const command = { kind: 'expire', at: toTimestamp(deps.clock.nowMs()) } as const
    const context = policyContext(deps, tenantId)
    await personGroup(deps, await onVerification(deps, verificationId, command, context))
  }
  return open.length >= VERIFY_LIMIT ? 'more' : 'idle'
}
