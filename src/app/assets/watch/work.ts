import pLimit from 'p-limit'
import type { AssetWork } from '../../../../projections/assets/query.ts'
import { invariant, unreachable } from '../../../kernel/assert.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import type { Channel } from '../../ports/provider.ts'
import type { AssetDeps } from '../deps.ts'
import { byPolicy } from '../actor.ts'
import { findAsset, findGroup, type Place } from '../find.ts'
import { isYoung, observeAsset, saidBy } from '../observe.ts'
import { deleteAssetUpstream, deleteGroupUpstream } from '../remove.ts'
import { onAsset, onGroup, readAsset, readGroup } from '../streams.ts'
import { lookAtAll, type Looked, type LookOptions, type Told } from './polling.ts'

/** Upstream does not list an old request: it never accepted it. */
const LOST = { code: 'UploadLost', message: 'The upload did not arrive; create it again.' }
/** Upstream has processed it for longer than any asset takes. */
const TIMED_OUT = { code: 'ProcessingTimedOut', message: 'The asset was not processed in time.' }
/** Concurrent work in one round, within the account's pace. */
const AT_ONCE = 16

/**
 * Does what can be done now for each; returns those whose work is over. Failures are logged and not
 * over, nor is work that the signal, or that of the look, interrupts.
 */
export async function doWork(
  deps: AssetDeps,
  channel: Channel,
  works: readonly AssetWork[],
  { signal, look }: { readonly signal: AbortSignal; readonly look: LookOptions },
): Promise<ReadonlySet<AssetWork>> {
  const over = new Set<AssetWork>()
  const turn = pLimit(AT_ONCE)
  const doing: Promise<void>[] = []
  /** Starts each one at its answer, without waiting for the rest of the round. */
  const begin = (work: AssetWork, done: () => Promise<boolean>): void => {
    doing.push(
      turn(async () => {
        if (!signal.aborted && (await isOver(deps, work, signal, done))) over.add(work)
      }),
    )
  }
  const looks: AssetWork[] = []
  for (const work of works) {
    const { kind } = work
    if (kind === 'look') looks.push(work)
    else begin(work, () => finish(deps, { ...work, kind }, { channel, signal }))
  }
  const told: Told = (work, looked) => begin(work, () => follow(deps, work, looked))
  await lookAtAll(deps, channel, looks, told, look)
  await Promise.all(doing)
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
    if (!signal.aborted) deps.logger.warn({ id, kind, err: error }, 'asset not worked on')
    return false
  }
}

function finish(
  deps: AssetDeps,
  work: AssetWork & { readonly kind: Exclude<AssetWork['kind'], 'look'> },
  place: Place,
): Promise<boolean> {
  switch (work.kind) {
    case 'find-asset':
      return lookForAsset(deps, work, place)
    case 'find-group':
      return lookForGroup(deps, work, place)
    case 'delete-asset':
      return finishAsset(deps, work, place)
    case 'delete-group':
      return finishGroup(deps, work, place)
    default:
      return unreachable(work.kind)
  }
}

/** Records an asset's new state; one processed for too long has failed. */
async function follow(
  deps: AssetDeps,
  { id, createdAtMs }: AssetWork,
  looked: Looked,
): Promise<boolean> {
  const isLate = deps.clock.nowMs() - createdAtMs > deps.assetLimits.longestProcessingMs
  const said = saidBy(deps, createdAtMs, looked)
  if (said === undefined && !isLate) return false
  const state = await readAsset(deps.log, id)
  if (state.phase !== 'processing') return true
  await observeAsset(deps, state, said ?? { failed: TIMED_OUT })
  return true
}

/**
 * Looks for an object that may have arrived, until no list can show it any more; then it never
 * came. Its age is that before the look.
 */
async function lookFor(
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

async function lookForAsset(deps: AssetDeps, work: AssetWork, place: Place): Promise<boolean> {
  const { id, tenantId } = work
  const state = await readAsset(deps.log, id)
  if (state.phase !== 'created') return true
  const refuse = (at: string) =>
    onAsset(deps, id, { kind: 'refuse', fault: LOST, at }, byPolicy(deps, tenantId))
  return lookFor(deps, work, () => findAsset(deps, state.asset, place), refuse)
}

async function lookForGroup(deps: AssetDeps, work: AssetWork, place: Place): Promise<boolean> {
  const { id, tenantId } = work
  const state = await readGroup(deps.log, id)
  if (state.phase !== 'created') return true
  const refuse = (at: string) =>
    onGroup(deps, id, { kind: 'refuse', fault: LOST, at }, byPolicy(deps, tenantId))
  return lookFor(deps, work, () => findGroup(deps, state.group, place), refuse)
}

async function finishAsset(deps: AssetDeps, work: AssetWork, place: Place): Promise<boolean> {
  const state = await readAsset(deps.log, work.id)
  if (state.phase !== 'withdrawn') return true
  return deleteAssetUpstream(deps, state, place)
}

/** Continues a deletion for the token that requested it. */
async function finishGroup(deps: AssetDeps, { id }: AssetWork, place: Place): Promise<boolean> {
  const state = await readGroup(deps.log, id)
  if (state.phase !== 'withdrawn') return true
  const { withdrawnBy } = state
  invariant(withdrawnBy, 'somebody had it withdrawn')
  const by = { ...withdrawnBy, at: toTimestamp(deps.clock.nowMs()) }
  await deleteGroupUpstream(deps, state, by, place)
  return true
}
