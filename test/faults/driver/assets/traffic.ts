import { setTimeout as sleep } from 'node:timers/promises'
import { act, addressWith, resultOf } from './library.ts'
import { mayPass, sessionSwitches, uploadSwitches } from './switches.ts'
import {
  assetTypes,
  isDeletionTried,
  modelOf,
  type Region,
  regions,
  type SeenAsset,
  type SeenGroup,
  type SeenSession,
} from './witness.ts'
import type { Tenant } from '../caller.ts'
import type { Dice } from '../random.ts'
import type { Traffic } from '../traffic.ts'
import type { Witness } from '../witness.ts'

/** One of those who use the library, as several tenants in turn. */
interface LibraryWorker {
  readonly dice: Dice
  readonly tenants: readonly Tenant[]
  readonly witness: Witness
  readonly name: string
  /** The crash point the gateway waits for, if any: what is done then tends towards it. */
  readonly focus: () => string | undefined
  /** Verifications whose result is still to be asked for. */
  readonly open: OpenSession[]
  made: number
}

/** A verification that was begun, and what its caller keeps of it. */
interface OpenSession {
  readonly session: SeenSession
  readonly tenant: Tenant
  readonly region: Region
  readonly credential: string
  /** Whether a person who passes at the page is verified. */
  readonly mayPass: boolean
  /** Of the process's own clock. */
  readonly begunMs: number
}

/** What nothing else of a run is called. */
function nextMarker(worker: LibraryWorker): string {
  worker.made += 1
  return `${worker.name}-${worker.made}`
}

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

/** Persons are sent to the page, press a button or go away; then the result is asked for. */

const PAGE_TIMEOUT_MS = 5_000
const MOST_OPEN = 6
/** Not much longer a verification may be confirmed. */
const CERTAIN_MS = 20 * 60_000

async function beginSession(worker: LibraryWorker, tenant: Tenant): Promise<void> {
  const { dice, witness, open } = worker
  const region = dice.pick(regions)
  const marker = nextMarker(worker)
  const switches = sessionSwitches(dice)
  const session = witness.assets.session(marker, tenant.tenantId)
  const body = { model: modelOf(region), CallbackURL: addressWith(switches, marker) }
  const answer = await act(tenant.call, 'CreateVisualValidateSession', body)
  if (answer?.status !== 200) return
  const { ProviderToken: credential, H5Link: link } = resultOf(answer)
  if (typeof credential !== 'string' || typeof link !== 'string')
    return witness.differ('id_withheld', marker, 'a verification was answered 200 without its link')
  const wish = dice.weighted<SeenSession['outcome']>([
    [8, 'pass'],
    [1, 'fail'],
    [1, undefined],
  ])
  const pressed = wish === undefined ? 'refused' : await press(link, wish)
  // Whether the page took it nobody knows then: nothing is to be learnt from it.
  if (pressed === undefined) return
  if (pressed === 'taken') session.outcome = wish
  const begunMs = performance.now()
  open.push({ session, tenant, region, credential, mayPass: mayPass(switches), begunMs })
  if (open.length > MOST_OPEN) open.shift()
}

/** Does what the person's browser does; what the page made of it, if it answered. */
async function press(
  link: string,
  outcome: 'pass' | 'fail',
): Promise<'taken' | 'refused' | undefined> {
  try {
    const { status } = await fetch(link, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ outcome }),
      signal: AbortSignal.timeout(PAGE_TIMEOUT_MS),
    })
    return status === 303 ? 'taken' : 'refused'
  } catch {
    return undefined
  }
}

async function askForResult(worker: LibraryWorker): Promise<void> {
  const { dice, open } = worker
  const asked = dice.pick(open)
  const [answer] = await Promise.all([
    resultFor(worker, asked),
    // An answer that comes twice is the same.
    dice.chance(0.3) ? resultFor(worker, asked) : undefined,
  ])
  if (answer === 'over') open.splice(open.indexOf(asked), 1)
}

async function resultFor(
  { witness }: LibraryWorker,
  { session, tenant, region, credential, mayPass, begunMs }: OpenSession,
): Promise<'over' | undefined> {
  const { marker, outcome } = session
  const body = { model: modelOf(region), ProviderToken: credential }
  const answer = await act(tenant.call, 'GetVisualValidateResult', body)
  if (answer?.status === 404) {
    if (outcome === 'pass' && mayPass && performance.now() - begunMs < CERTAIN_MS)
      witness.differ('verification_lost', marker, 'a person who passed is not found')
    return 'over'
  }
  if (answer?.status !== 200) return undefined
  const { GroupId: id } = resultOf(answer)
  if (typeof id !== 'string') {
    witness.differ('bad_answer', marker, 'a result without a group')
    return undefined
  }
  if (id === '') return undefined
  if (outcome !== 'pass') witness.differ('verified_in_vain', marker, outcome ?? 'nothing')
  session.groupIds.add(id)
  witness.assets.group({ id, tenantId: tenant.tenantId, region, isPerson: true })
  return 'over'
}
