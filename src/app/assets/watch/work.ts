import pLimit from 'p-limit'
import type { AssetWork } from '../../../../projections/assets/query.ts'
import { invariant, unreachable } from '../../../kernel/assert.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import type { Channel } from '../../ports/provider.ts'
import type { AssetDeps } from '../deps.ts'
import { policyContext } from '../actor.ts'
import { findAsset, findGroup, type LibraryCall } from '../find.ts'
import { isYoung, observeAsset, stateChangeOf } from '../observe.ts'
import { deleteAssetUpstream, deleteGroupUpstream } from '../remove.ts'
import { onAsset, onGroup, readAsset, readGroup } from '../streams.ts'
import { pollAssets, type PollResult, type PollOptions, type OnResult } from './polling.ts'

/** Upstream does not list an old request: it never accepted it. */
const LOST = { code: 'UploadLost', message: 'The upload did not arrive; create it again.' }
/** Upstream has processed it for longer than any asset takes. */
const TIMED_OUT = { code: 'ProcessingTimedOut', message: 'The asset was not processed in time.' }
/** Concurrent work in one round, within the account's pace. */
const AT_ONCE = 16

/**
 * Does the work that is possible now for each item; returns the items whose work is complete.
 * Failed work is logged and incomplete, as is work that the signal, or that of the poll,
 * interrupts.
 */
export async function doWork(
  deps: AssetDeps,
  channel: Channel,
  works: readonly AssetWork[],
  { signal, poll }: { readonly signal: AbortSignal; readonly poll: PollOptions },
): Promise<ReadonlySet<AssetWork>> {
  const over = new Set<AssetWork>()
  const turn = pLimit(AT_ONCE)
  const running: Promise<void>[] = []
  /** Starts each one at its answer, without waiting for the rest of the round. */
  const begin = (work: AssetWork, done: () => Promise<boolean>): void => {
    running.push(
      turn(async () => {
        if (!signal.aborted && (await isOver(deps, work, signal, done))) over.add(work)
      }),
    )
  }
  const polled: AssetWork[] = []
  for (const work of works) {
    const { kind } = work
    if (kind === 'look') polled.push(work)
    else begin(work, () => finish(deps, { ...work, kind }, { channel, signal }))
  }
  const onResult: OnResult = (work, result) => begin(work, () => recordResult(deps, work, result))
  await pollAssets(deps, channel, polled, onResult, poll)
  await Promise.all(running)
  return over
}

async function isOver(
  deps: AssetDeps,
  { id, kind }: AssetWork,
  signal: AbortSignal,
  done: () => Promise<boolean>,
): Promise<boolean> {
  try {
    return await done()
  } catch (error) {
    deps.metrics.policyFailures.inc({ policy: 'assets' })
    if (!signal.aborted) deps.logger.warn({ id, kind, err: error }, 'work on an asset failed')
    return false
  }
}

function finish(
  deps: AssetDeps,
  work: AssetWork & { readonly kind: Exclude<AssetWork['kind'], 'look'> },
  call: LibraryCall,
): Promise<boolean> {
  switch (work.kind) {
    case 'find-asset':
      return searchForAsset(deps, work, call)
    case 'find-group':
      return searchForGroup(deps, work, call)
    case 'delete-asset':
      return finishAsset(deps, work, call)
    case 'delete-group':
      return finishGroup(deps, work, call)
    default:
      return unreachable(work.kind)
  }
}

/** Records an asset's new state; one processed for too long has failed. */
async function recordResult(
  deps: AssetDeps,
  { id, createdAtMs }: AssetWork,
  result: PollResult,
): Promise<boolean> {
  const isLate = deps.clock.nowMs() - createdAtMs > deps.assetLimits.longestProcessingMs
  const change = stateChangeOf(deps, createdAtMs, result)
  if (change === undefined && !isLate) return false
  const state = await readAsset(deps.log, id)
  if (state.phase !== 'processing') return true
  await observeAsset(deps, state, change ?? { failed: TIMED_OUT })
  return true
}

/**
 * Looks for an object that may have arrived, until no list can show it any more; then it never
 * came. Its age is that before the search.
 */
async function searchFor(
  deps: AssetDeps,
  { createdAtMs }: AssetWork,
  find: () => Promise<string | undefined>,
  giveUp: (at: string) => Promise<unknown>,
): Promise<boolean> {
  const lost = !isYoung(deps, createdAtMs)
  if ((await find()) !== undefined) return true
  if (lost) await giveUp(toTimestamp(deps.clock.nowMs()))
  return lost
}

async function searchForAsset(
  deps: AssetDeps,
  work: AssetWork,
  call: LibraryCall,
): Promise<boolean> {
  const { id, tenantId } = work
  const state = await readAsset(deps.log, id)
  if (state.phase !== 'created') return true
  const refuse = (at: string) =>
    onAsset(deps, id, { kind: 'refuse', fault: LOST, at }, policyContext(deps, tenantId))
  return searchFor(deps, work, () => findAsset(deps, state.asset, call), refuse)
}

async function searchForGroup(
  deps: AssetDeps,
  work: AssetWork,
  call: LibraryCall,
): Promise<boolean> {
  const { id, tenantId } = work
  const state = await readGroup(deps.log, id)
  if (state.phase !== 'created') return true
  const refuse = (at: string) =>
    onGroup(deps, id, { kind: 'refuse', fault: LOST, at }, policyContext(deps, tenantId))
  return searchFor(deps, work, () => findGroup(deps, state.group, call), refuse)
}

async function finishAsset(deps: AssetDeps, work: AssetWork, call: LibraryCall): Promise<boolean> {
  const state = await readAsset(deps.log, work.id)
  if (state.phase !== 'withdrawn') return true
  return deleteAssetUpstream(deps, state, call)
}

/** Continues a deletion for the token that requested it. */
async function finishGroup(
  deps: AssetDeps,
  { id }: AssetWork,
  call: LibraryCall,
): Promise<boolean> {
  const state = await readGroup(deps.log, id)
  if (state.phase !== 'withdrawn') return true
  const { withdrawnBy } = state
  invariant(withdrawnBy, 'a withdrawn group says who withdrew it')
  const by = { ...withdrawnBy, at: toTimestamp(deps.clock.nowMs()) }
  await deleteGroupUpstream(deps, state, by, call)
  return true
}
