import { setTimeout as sleep } from 'node:timers/promises'
import type { Tenant } from '../caller.ts'
import type { Dice } from '../random.ts'
import type { Traffic } from '../traffic.ts'
import { modelOf, regions } from './regions.ts'
import { uploadSwitches } from './switches.ts'
import { askForResult, beginSession } from './verification.ts'
import { act, addressWith, resultOf } from './wire.ts'
import { assetTypes, isDeletionTried, type SeenAsset, type SeenGroup } from './witness.ts'
import { type LibraryWorker, nextMarker } from './worker.ts'

/**
 * Callers of several tenants that keep assets, have persons verified and delete what is of them, until told
 * to stop. What they keep is used by the creations of tasks.
 */

const WORKERS = 1
/** Of the general library, each tenant; nothing deletes one. */
const MOST_GROUPS = 3

export function startAssetTraffic(
  dice: Dice,
  options: Pick<LibraryWorker, 'tenants' | 'witness' | 'focus'>,
): Traffic {
  const stopping = new AbortController()
  const work = Array.from({ length: WORKERS }, async (_, index) => {
    const name = `a${index}`
    const worker: LibraryWorker = { ...options, dice: dice.fork(name), name, open: [], made: 0 }
    while (!stopping.signal.aborted) {
      await doSomething(worker)
      await sleep(worker.dice.integer(40, 240))
    }
  })
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(work)
    },
  }
}

/** What leads to the crash point that the gateway waits for is done more often. */
function doSomething(worker: LibraryWorker): Promise<void> {
  const { dice, open } = worker
  const tenant = dice.pick(worker.tenants)
  const own = groupsOf(worker, tenant)
  if (own.length === 0) return createGroup(worker, tenant)
  const assets = assetsOf(worker, tenant)
  const persons = own.filter(({ isPerson }) => isPerson)
  const focus = worker.focus() ?? ''
  const weigh = (usual: number, ...points: readonly string[]): number =>
    points.some((point) => focus.startsWith(point)) ? 60 : usual
  const deleting = ['asset.after-withdrawn', 'asset.after-group-withdrawn', 'asset.after-deletion']
  const making = ['asset.after-created', 'asset.after-provider', 'asset.after-accepted']
  const verifying = persons.length === 0 ? ['verification.', ...deleting] : ['verification.']
  return dice.weighted<() => Promise<void>>([
    [own.length - persons.length < MOST_GROUPS ? 4 : 0, () => createGroup(worker, tenant)],
    [weigh(24, ...making, 'asset.before-'), () => upload(worker, tenant, dice.pick(own))],
    [
      assets.length === 0 ? 0 : weigh(20, 'asset.before-observed'),
      () => lookAtOne(worker, tenant, assets),
    ],
    [4, () => list(worker, tenant)],
    [weigh(6, ...verifying), () => beginSession(worker, tenant)],
    [open.length === 0 ? 0 : weigh(10, ...verifying), () => askForResult(worker)],
    [
      persons.length === 0 ? 0 : weigh(4, ...deleting),
      () => remove(worker, tenant, persons, focus),
    ],
    [persons.length === 0 ? 0 : 2, () => rename(worker, tenant, assets)],
    [3, () => lookAtForeign(worker, tenant)],
  ])()
}

function groupsOf({ witness }: LibraryWorker, { tenantId }: Tenant): readonly SeenGroup[] {
  return [...witness.assets.groups.values()].filter(
    (group) => group.tenantId === tenantId && !group.deleted && !group.missed,
  )
}

/** Deleted ones too: those must stay away. */
function assetsOf({ witness }: LibraryWorker, { tenantId }: Tenant): readonly SeenAsset[] {
  return [...witness.assets.assets.values()].filter(({ group }) => group.tenantId === tenantId)
}

async function createGroup(worker: LibraryWorker, { call, tenantId }: Tenant): Promise<void> {
  const { dice, witness } = worker
  const region = dice.pick(regions)
  const body = { model: modelOf(region), Name: nextMarker(worker), Description: 'boats' }
  const answer = await act(call, 'CreateAssetGroup', body)
  if (answer?.status !== 200) return
  const { Id: id } = resultOf(answer)
  if (typeof id === 'string') witness.assets.group({ id, tenantId, region, isPerson: false })
  else witness.differ('id_withheld', body.Name, 'a group was answered 200 without its id')
}

async function upload(worker: LibraryWorker, { call }: Tenant, group: SeenGroup): Promise<void> {
  const { dice, witness } = worker
  const name = nextMarker(worker)
  const assetType = dice.pick(assetTypes)
  const wasDeleted = group.deleted
  const answer = await act(call, 'CreateAsset', {
    model: modelOf(group.region),
    GroupId: group.id,
    URL: addressWith(uploadSwitches(dice, worker.focus() ?? '')),
    AssetType: assetType,
    Name: name,
  })
  if (answer === undefined) return
  if (answer.status === 404) group.missed = true
  if (answer.status !== 200) return
  const { Id: id } = resultOf(answer)
  if (wasDeleted) witness.differ('deletion_undone', group.id, `took ${String(id)}`)
  if (typeof id === 'string') witness.assets.asset({ id, group, assetType })
  else witness.differ('id_withheld', name, 'an asset was answered 200 without its id')
}

async function lookAtOne(
  { dice, witness }: LibraryWorker,
  { call }: Tenant,
  assets: readonly SeenAsset[],
): Promise<void> {
  // Those that are worked on, rather.
  const open = assets.filter(({ shown }) => shown === undefined || shown === 'Processing')
  const asset = dice.pick(open.length > 0 && dice.chance(0.7) ? open : assets)
  const wasDeleted = asset.deleted
  const answer = await act(call, 'GetAsset', { Id: asset.id })
  if (answer?.status === 404 && !isDeletionTried(asset))
    witness.differ('id_lost', asset.id, 'an asset a caller was given is not found')
  if (answer?.status !== 200) return
  if (wasDeleted) witness.differ('deletion_undone', asset.id, 'was deleted and is shown')
  const status = String(resultOf(answer)['Status'])
  const { shown } = asset
  const isOver = shown === 'Active' || shown === 'Failed'
  const isLeaving = isDeletionTried(asset) && status === 'Failed'
  if (isOver && shown !== status && !isLeaving)
    witness.differ('went_back', asset.id, `shown as ${shown}, then as ${status}`)
  asset.shown = status
  if (status === 'Active') witness.assets.noteUsable(asset)
}

async function list({ dice, witness }: LibraryWorker, { call }: Tenant): Promise<void> {
  const action = dice.pick(['ListAssets', 'ListAssetGroups'])
  const filter = {
    GroupType: dice.pick(['AIGC', 'LivenessFace']),
    ...(dice.chance(0.5) ? { Statuses: ['Active'] } : {}),
  }
  const page = { PageNumber: dice.integer(1, 2), PageSize: dice.pick([1, 10, 100]) }
  const answer = await act(call, action, { Filter: filter, ...page })
  if (answer?.status !== 200) return
  const { Items: items } = resultOf(answer)
  if (!Array.isArray(items)) return witness.differ('bad_list', action, 'a list without items')
  for (const { Id: id, Status: status } of items as readonly Readonly<Record<string, unknown>>[])
    if (action === 'ListAssets' && filter.Statuses !== undefined && status !== 'Active')
      witness.differ('bad_list', String(id), `shows ${String(status)}`)
}

/** P8: another tenant's is as if it were not. */
async function lookAtForeign(
  { dice, witness }: LibraryWorker,
  { call, tenantId }: Tenant,
): Promise<void> {
  const theirs = [...witness.assets.assets.values()].filter(
    ({ group }) => group.tenantId !== tenantId,
  )
  if (theirs.length === 0) return
  const { id } = dice.pick(theirs)
  const action = dice.pick(['GetAsset', 'DeleteAsset'])
  const answer = await act(call, action, { Id: id })
  if (answer?.status === 200) witness.differ('foreign_seen', id, `${action} by ${tenantId}`)
}

async function rename(
  worker: LibraryWorker,
  { call }: Tenant,
  assets: readonly SeenAsset[],
): Promise<void> {
  const theirs = assets.filter(({ group }) => group.isPerson)
  if (theirs.length === 0) return
  const { id } = worker.dice.pick(theirs)
  await act(call, 'UpdateAsset', { Id: id, Name: nextMarker(worker) })
}

async function remove(
  worker: LibraryWorker,
  tenant: Tenant,
  persons: readonly SeenGroup[],
  focus: string,
): Promise<void> {
  const { dice } = worker
  const assets = assetsOf(worker, tenant).filter((asset) => asset.group.isPerson && !asset.deleted)
  const isOfGroup = focus === 'asset.after-group-withdrawn' || assets.length === 0
  if (!isOfGroup && dice.chance(0.6)) {
    const asset = dice.pick(assets)
    const once = () => removeAsset(tenant, asset)
    await (dice.chance(0.2) ? Promise.all([once(), once()]) : once())
    return
  }
  const group = dice.pick(persons)
  const once = () => removeGroup(worker, tenant, group)
  // It is deleted twice, or some of it is still being uploaded.
  const beside = dice.weighted<() => Promise<void>>([
    [6, () => Promise.resolve()],
    [2, once],
    [3, () => upload(worker, tenant, group)],
  ])
  await Promise.all([beside(), once()])
}

async function removeAsset({ call }: Tenant, asset: SeenAsset): Promise<void> {
  asset.deletionTried = true
  const answer = await act(call, 'DeleteAsset', { Id: asset.id })
  if (answer?.status === 200) asset.deleted = true
}

async function removeGroup(
  { witness }: LibraryWorker,
  { call }: Tenant,
  group: SeenGroup,
): Promise<void> {
  const within = witness.assets.activeIn(group)
  group.deletionTried = true
  const answer = await act(call, 'DeleteAssetGroup', { Id: group.id })
  if (answer?.status !== 200) return
  group.deleted = true
  for (const asset of within) asset.deleted = true
}
