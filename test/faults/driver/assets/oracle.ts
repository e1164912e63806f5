import type { LibraryRecord, LoggedLibrary, LoggedThing, Phase, Shown } from './library.ts'
import { AssetWitness } from './witness.ts'
import type { Say } from '../bill.ts'
import type { Difference } from '../witness.ts'

/** All that is compared of the asset library. */
export interface AssetFindings {
  readonly upstream: LibraryRecord
  readonly logged: LoggedLibrary
  /** What each tenant's lists show. */
  readonly shown: ReadonlyMap<string, Shown>
  readonly witness: AssetWitness
  /** Tasks of the log that were asked for with an asset. */
  readonly uses: readonly { readonly requestId: string; readonly assetId: string }[]
  /** Whether nothing may be open any more. */
  readonly isOver: boolean
}

/** Of a run that kept nothing. */
export function nothingKept(): AssetFindings {
  return {
    upstream: { assets: [], groups: [], verifications: [] },
    logged: { assets: new Map(), groups: new Map(), verifications: new Map() },
    shown: new Map(),
    witness: new AssetWitness(),
    uses: [],
    isOver: true,
  }
}

/** Compares what the libraries accepted with what the log, the lists and the callers say of it. */

const CLOCKS_MS = 1_000
/** What is worked on for ever fails with it, once that took longer than anything takes. */
const TIMED_OUT = 'ProcessingTimedOut'

/** Every difference there is. */
export function judgeAssets(findings: AssetFindings): readonly Difference[] {
  const differences: Difference[] = []
  const say: Say = (code, subject, message) => differences.push({ code, subject, message })
  const { upstream, logged } = findings
  for (const one of [...logged.assets.values(), ...logged.groups.values()]) judgeStream(one, say)
  judgeMade(upstream.assets, logged.assets, say)
  // Groups of persons are not asked for by a name.
  const general = upstream.groups.filter(({ group_type: type }) => type === 'AIGC')
  judgeMade(general, new Map([...logged.groups].filter(([, one]) => one.groupType === 'AIGC')), say)
  judgePersons(findings, say)
  judgeAssetEnds(findings, say)
  judgeGroupEnds(findings, say)
  judgeUses(findings, say)
  judgeShown(findings, say)
  judgeTold(findings, say)
  return differences
}

/** What one stream says by itself: it begins at its beginning, and nothing uses what was withdrawn. */
function judgeStream({ id, events }: LoggedThing, say: Say): void {
  const types = events.map(({ type }) => type)
  if (!/^Asset(?:Group)?Created$/.test(types[0] ?? '')) say('no_intent', id, `begins: ${types[0]}`)
  const once = types.filter((type) => !/^Asset(?:Used|Updated|GroupUpdated)$/.test(type))
  for (const [place, type] of once.entries())
    if (once.indexOf(type) < place) say('twice', id, `${type} twice`)
  const ends = types.filter((type) => /^Asset(?:Activated|Failed|Refused)$/.test(type))
  if (ends.length > 1) say('two_ends', id, ends.join(', '))
  const withdrawn = types.indexOf('AssetWithdrawn')
  for (const [place, type] of types.entries()) {
    if (type !== 'AssetUsed') continue
    if (withdrawn >= 0 && place > withdrawn) say('used_after_withdrawal', id, types.join(', '))
    if (!types.slice(0, place).includes('AssetActivated')) say('used_unready', id, types.join(', '))
  }
  const deleted = types.findIndex((type) => /^Asset(?:Group)?Deleted$/.test(type))
  const asked = types.findIndex((type) => /^Asset(?:Group)?Withdrawn$/.test(type))
  if (deleted >= 0 && (asked < 0 || asked > deleted))
    say('deleted_unasked', id, 'deleted before it was withdrawn')
}

interface Made {
  readonly id: string
  readonly name: string
  readonly accepted_at: string
  readonly deleted: boolean
  readonly gone?: boolean
}

/** P1: whatever was accepted was recorded before, once, and is known by its id or let go of. */
function judgeMade(made: readonly Made[], ours: ReadonlyMap<string, LoggedThing>, say: Say): void {
  const byName = new Map<string, Made>()
  const ids = new Set(made.map(({ id }) => id))
  for (const one of made) {
    const other = byName.get(one.name)
    if (other !== undefined) say('sent_twice', one.name, `accepted as ${other.id} and ${one.id}`)
    byName.set(one.name, one)
    const own = ours.get(one.name)
    if (own === undefined) say('unasked', one.id, `called ${one.name}, which nobody asked for`)
    else judgeKnown(one, own, say)
  }
  for (const { id, nativeId } of ours.values())
    if (nativeId !== undefined && !ids.has(nativeId))
      say('made_up', id, `${nativeId} was never accepted`)
}

function judgeKnown(made: Made, { id, nativeId, phase, createdAtMs }: LoggedThing, say: Say): void {
  if (Date.parse(made.accepted_at) < createdAtMs - CLOCKS_MS)
    say('intent_too_late', made.id, `accepted before ${id} was recorded (P1)`)
  const isAway = made.deleted || made.gone === true
  if (nativeId !== undefined) {
    if (nativeId !== made.id) say('wrong_owner', id, `kept as ${nativeId}, accepted as ${made.id}`)
  } else if (phase === 'refused' && !isAway) say('given_up_wrongly', id, `accepted as ${made.id}`)
  if (phase === 'deleted' && !isAway) say('deletion_lost', id, `${made.id} is still there`)
}

/** Each asset is what upstream has made of it, and what is over is over on both sides. */
function judgeAssetEnds({ upstream, logged, isOver }: AssetFindings, say: Say): void {
  const made = new Map(upstream.assets.map((one) => [one.name, one]))
  for (const { id, phase, groupId = '', code } of logged.assets.values()) {
    const one = made.get(id)
    const isAway = one !== undefined && (one.deleted || one.gone)
    const isLeaving = logged.groups.get(groupId)?.events.some(isWithdrawal) === true
    switch (phase) {
      case 'created':
        say('unfound', id, 'past its bound nobody knows whether upstream has it')
        break
      case 'processing':
        if (isOver) say('still_open', id, one?.outcome ?? 'nothing upstream')
        else if (one === undefined || isAway || one.status !== 'Processing')
          say('end_unseen', id, `upstream: ${one?.status ?? 'nothing'}${isAway ? ', gone' : ''}`)
        break
      case 'active':
        if (one?.outcome !== 'Active') say('wrong_end', id, `active, upstream ${one?.outcome}`)
        else if (one.deleted) say('left_behind', id, 'active, and deleted upstream')
        break
      case 'failed': {
        const isSaid = one?.outcome === 'Failed' || one?.gone === true
        const isLate = one?.outcome === 'never' && code === TIMED_OUT && isOver
        if (!isSaid && !isLate && !(isAway && isLeaving))
          say('wrong_end', id, `failed with ${code}, upstream ${one?.outcome}`)
        break
      }
      case 'withdrawn':
        say('deletion_unfinished', id, 'withdrawn and not deleted')
        break
      case 'refused':
      case 'deleted':
        break
    }
    const isAsked = phase === 'withdrawn' || phase === 'deleted' || isLeaving
    if (one?.deleted === true && !isAsked) say('deleted_unasked', id, `${phase} here`)
  }
}

function isWithdrawal({ type }: { readonly type: string }): boolean {
  return type === 'AssetGroupWithdrawn'
}

function judgeGroupEnds({ upstream, logged }: AssetFindings, say: Say): void {
  const made = new Map(upstream.groups.map((one) => [one.id, one]))
  const open: ReadonlySet<Phase> = new Set(['created', 'processing', 'active', 'withdrawn'])
  for (const { id, phase, nativeId = '' } of logged.groups.values()) {
    const one = made.get(nativeId)
    if (phase === 'created') say('unfound', id, 'past its bound nobody knows of it')
    if (phase === 'withdrawn') say('deletion_unfinished', id, 'withdrawn and not deleted')
    if (phase === 'active' && one?.deleted === true) say('deleted_unasked', id, 'is there here')
    if (phase !== 'deleted') continue
    if (one !== undefined && !one.deleted) say('deletion_lost', id, `${one.id} is still there`)
    for (const asset of logged.assets.values())
      if (asset.groupId === id && open.has(asset.phase))
        say('left_behind', asset.id, `${asset.phase}, and its group is deleted`)
  }
}

/** What can be deleted is written down as used before it is used. */
function judgeUses({ uses, logged }: AssetFindings, say: Say): void {
  for (const { requestId, assetId } of uses) {
    const asset = logged.assets.get(assetId)
    if (asset?.groupType === 'AIGC') continue
    const isSaid = asset?.events.some(
      ({ type, data }) => type === 'AssetUsed' && data['requestId'] === requestId,
    )
    if (isSaid !== true) say('use_unrecorded', assetId, `by ${requestId}`)
  }
}

const statuses: Readonly<Record<Phase, string | undefined>> = {
  created: 'Processing',
  processing: 'Processing',
  active: 'Active',
  failed: 'Failed',
  refused: 'Failed',
  withdrawn: 'Failed',
  deleted: undefined,
}

/** The status callers are shown of an asset; undefined of one that is deleted. */
export function statusOf({ phase }: Pick<LoggedThing, 'phase'>): string | undefined {
  return statuses[phase]
}

/** P6, P8: a tenant's lists show what the log has of its own, all of it and nothing else. */
function judgeShown({ shown, logged }: AssetFindings, say: Say): void {
  for (const [tenantId, { assets, groups }] of shown) {
    const isOwn = (one: LoggedThing): boolean => one.tenantId === tenantId
    const own = [...logged.assets.values()].filter(isOwn)
    for (const asset of own) {
      const should = statusOf(asset)
      const is = assets.get(asset.id)
      if (is !== should) say('list_differs', asset.id, `shown as ${is}, is ${should}`)
    }
    const known = new Set(
      [...own, ...[...logged.groups.values()].filter(isOwn)].map(({ id }) => id),
    )
    for (const id of [...assets.keys(), ...groups])
      if (!known.has(id)) say('foreign_seen', id, `listed for ${tenantId}`)
    for (const group of [...logged.groups.values()].filter(isOwn)) {
      const isThere = group.phase !== 'refused' && group.phase !== 'deleted'
      if (groups.has(group.id) !== isThere) say('list_differs', group.id, group.phase)
    }
  }
}

/** What callers were told stands in the log, and what they were told is deleted is. */
function judgeTold({ witness, logged }: AssetFindings, say: Say): void {
  for (const { id, tenantId, deleted, missed } of witness.groups.values()) {
    const group = logged.groups.get(id)
    if (group?.tenantId !== tenantId) say('id_lost', id, `told to ${tenantId}`)
    else if (missed && group.phase !== 'refused' && group.phase !== 'deleted')
      say('id_lost', id, `was not found, and is ${group.phase}`)
    else if (deleted && group.phase !== 'deleted') say('deletion_lost', id, `is ${group.phase}`)
  }
  for (const { id, group, shown, deleted } of witness.assets.values()) {
    const own = logged.assets.get(id)
    if (own?.tenantId !== group.tenantId) say('id_lost', id, `told to ${group.tenantId}`)
    else if (deleted && own.phase !== 'deleted') say('deletion_lost', id, `is ${own.phase}`)
    else if (shown === 'Active' && !own.events.some(({ type }) => type === 'AssetActivated'))
      say('shown_unrecorded', id, 'shown as active')
  }
}

/** Whether each person who was verified has one group, and nobody else has. */

type Findings = Pick<AssetFindings, 'upstream' | 'logged' | 'witness' | 'isOver'>

function judgePersons(findings: Findings, say: Say): void {
  judgeSessions(findings, say)
  judgeVerifications(findings, say)
  judgeGroups(findings, say)
  judgeResults(findings, say)
}

/** Each was asked for once, by somebody. A person whose result nobody asked for is no defect. */
function judgeSessions({ upstream, witness }: Findings, say: Say): void {
  const seen = new Set<string>()
  for (const { id, client_marker: marker } of upstream.verifications) {
    if (marker === null || !witness.sessions.has(marker)) say('unasked', id, `as ${marker}`)
    else if (seen.size === seen.add(marker).size) say('sent_twice', marker, 'begun twice')
  }
}

/** A confirmed one is of a person who passed; it is confirmed once, and its group is there. */
function judgeVerifications({ upstream, logged, isOver }: Findings, say: Say): void {
  const passed = new Map(
    upstream.verifications.flatMap((one) =>
      one.group_id === null ? [] : [[one.group_id, one] as const],
    ),
  )
  const owners = new Map<string, string>()
  for (const { id, phase, events, nativeGroupId = '', groupId } of logged.verifications.values()) {
    const types = events.map(({ type }) => type)
    if (types[0] !== 'VerificationStarted' || types.length > 2) say('twice', id, types.join(', '))
    if (phase === 'started' && isOver) say('still_open', id, 'has no end')
    if (phase !== 'confirmed') continue
    if (passed.get(nativeGroupId)?.page !== 'pass') say('verified_in_vain', id, nativeGroupId)
    const other = owners.get(nativeGroupId)
    if (other !== undefined) say('owned_twice', nativeGroupId, `by ${other} and ${id}`)
    owners.set(nativeGroupId, id)
    const group = logged.groups.get(groupId)
    if (group?.nativeId !== nativeGroupId)
      say('group_missing', groupId, `${group?.nativeId ?? 'none'} in place of ${nativeGroupId}`)
  }
}

/** A person's group comes from a verification, whichever process made it. */
function judgeGroups({ logged }: Findings, say: Say): void {
  const confirmed = new Map(
    [...logged.verifications.values()]
      .filter(({ phase }) => phase === 'confirmed')
      .map(({ groupId, nativeGroupId }) => [groupId, nativeGroupId]),
  )
  for (const { id, groupType, nativeId } of logged.groups.values())
    if (groupType === 'LivenessFace' && (nativeId === undefined || confirmed.get(id) !== nativeId))
      say('unverified', id, `${nativeId ?? 'no group upstream'}, and nobody was verified for it`)
}

/** A caller was told one group, and it is the one of the person it sent to the page. */
function judgeResults({ upstream, logged, witness }: Findings, say: Say): void {
  const groupOf = new Map(
    upstream.verifications.map(({ client_marker: marker, group_id: id }) => [marker, id]),
  )
  for (const { marker, groupIds } of witness.sessions.values()) {
    if (groupIds.size > 1) say('two_groups', marker, [...groupIds].join(' '))
    for (const id of groupIds) {
      const group: LoggedThing | undefined = logged.groups.get(id)
      if (group === undefined) say('id_lost', id, `told to ${marker}`)
      else if (group.nativeId !== groupOf.get(marker))
        say('wrong_owner', id, `${marker} is ${groupOf.get(marker)}, kept as ${group.nativeId}`)
    }
  }
}
