import t from 'tap'
import { type AssetFindings, judgeAssets, nothingKept } from './oracle.ts'
import {
  type AcceptedAsset,
  type AcceptedGroup,
  type LibraryRecord,
  type LoggedLibrary,
  thing,
  verification,
} from './library.ts'
import { AssetWitness } from './witness.ts'

/** The judge of the asset library: it finds nothing where nothing is wrong, and every wrong there can be. */

const TENANT = 'tenant_demo'
const AT = '2026-01-02T03:04:05.000Z'
const LATER = '2026-01-02T03:04:06.000Z'

type Event = { readonly type: string; readonly data: Readonly<Record<string, unknown>> }

function created(type: string, data: Readonly<Record<string, unknown>>): Event {
  return { type, data: { tenantId: TENANT, createdAt: AT, ...data } }
}
const said = (type: string, data: Readonly<Record<string, unknown>> = {}): Event => ({ type, data })

const group = [
  created('AssetGroupCreated', { groupId: 'group-1', groupType: 'AIGC' }),
  said('AssetGroupAccepted', { nativeId: 'g-1' }),
]
const person = [
  created('AssetGroupCreated', { groupId: 'group-2', groupType: 'LivenessFace' }),
  said('AssetGroupAccepted', { nativeId: 'g-2' }),
]
const ofGroup = { assetId: 'asset-1', groupId: 'group-1', groupType: 'AIGC' }
const ofPerson = { assetId: 'asset-2', groupId: 'group-2', groupType: 'LivenessFace' }
const asset = [
  created('AssetCreated', ofGroup),
  said('AssetAccepted', { nativeId: 'a-1' }),
  said('AssetActivated'),
]
const used = [
  created('AssetCreated', ofPerson),
  said('AssetAccepted', { nativeId: 'a-2' }),
  said('AssetActivated'),
  said('AssetUsed', { requestId: 'req_1' }),
]
const verified = [
  said('VerificationStarted', { groupId: 'group-2' }),
  said('VerificationConfirmed', { nativeGroupId: 'g-2' }),
]

const kept = { seq: 1, client_marker: null, accepted_at: LATER, deleted: false }
const upstreamAsset: AcceptedAsset = {
  ...kept,
  id: 'a-1',
  name: 'asset-1',
  group_type: 'AIGC',
  group_id: 'g-1',
  status: 'Active',
  outcome: 'Active',
  gone: false,
}
const upstreamUsed: AcceptedAsset = {
  ...upstreamAsset,
  id: 'a-2',
  name: 'asset-2',
  group_type: 'LivenessFace',
  group_id: 'g-2',
}
const upstreamGroup: AcceptedGroup = { ...kept, id: 'g-1', name: 'group-1', group_type: 'AIGC' }
const upstreamPerson: AcceptedGroup = { ...kept, id: 'g-2', name: '', group_type: 'LivenessFace' }
const session = {
  seq: 1,
  id: 'session-1',
  client_marker: 'a0-1',
  accepted_at: LATER,
  page: 'pass' as const,
  group_id: 'g-2',
}
const record: LibraryRecord = {
  assets: [upstreamAsset, upstreamUsed],
  groups: [upstreamGroup, upstreamPerson],
  verifications: [session],
}

interface Streams {
  readonly assets: Readonly<Record<string, readonly Event[]>>
  readonly groups: Readonly<Record<string, readonly Event[]>>
  readonly verifications: Readonly<Record<string, readonly Event[]>>
}
const streams: Streams = {
  assets: { 'asset-1': asset, 'asset-2': used },
  groups: { 'group-1': group, 'group-2': person },
  verifications: { v1: verified },
}

function logged({ assets, groups, verifications }: Streams): LoggedLibrary {
  const each = <Of>(
    all: Readonly<Record<string, readonly Event[]>>,
    fold: (id: string, events: readonly Event[]) => Of,
  ) => new Map(Object.entries(all).map(([id, events]) => [id, fold(id, events)]))
  return {
    assets: each(assets, thing),
    groups: each(groups, thing),
    verifications: each(verifications, verification),
  }
}

function witnessed(): AssetWitness {
  const witness = new AssetWitness()
  const where = { tenantId: TENANT, region: 'domestic' } as const
  witness.group({ ...where, id: 'group-1', isPerson: false })
  const theirs = witness.group({ ...where, id: 'group-2', isPerson: true })
  const seen = witness.asset({ id: 'asset-2', group: theirs, assetType: 'Image' })
  seen.shown = 'Active'
  witness.session('a0-1', TENANT).groupIds.add('group-2')
  return witness
}

/** What the lists show of what the log has. */
function shownOf({ assets, groups }: LoggedLibrary): AssetFindings['shown'] {
  const statuses: Readonly<Record<string, string>> = { active: 'Active', processing: 'Processing' }
  const there = [...assets.values()].filter(({ phase }) => phase !== 'deleted')
  const open = [...groups.values()].filter(({ phase }) => !/refused|deleted/.test(phase))
  return new Map([
    [
      TENANT,
      {
        assets: new Map(
          there.map(({ id, phase }) => [
            id,
            phase === 'created' ? 'Processing' : (statuses[phase] ?? 'Failed'),
          ]),
        ),
        groups: new Set(open.map(({ id }) => id)),
      },
    ],
  ])
}

interface Change {
  readonly upstream?: Partial<LibraryRecord>
  readonly assets?: Streams['assets']
  readonly groups?: Streams['groups']
  readonly verifications?: Streams['verifications']
  readonly uses?: AssetFindings['uses']
  readonly isOver?: boolean
  readonly witness?: AssetWitness
}

/** The codes of what is found where this is otherwise. */
function codes(change: Change = {}): readonly string[] {
  const library = logged({
    assets: { ...streams.assets, ...change.assets },
    groups: { ...streams.groups, ...change.groups },
    verifications: { ...streams.verifications, ...change.verifications },
  })
  const findings: AssetFindings = {
    upstream: { ...record, ...change.upstream },
    logged: library,
    shown: shownOf(library),
    witness: change.witness ?? witnessed(),
    uses: change.uses ?? [{ requestId: 'req_1', assetId: 'asset-2' }],
    isOver: change.isOver ?? false,
  }
  return [...new Set(judgeAssets(findings).map(({ code }) => code))].sort()
}

const withdrawn = said('AssetWithdrawn')
const gone = said('AssetDeleted')

t.test('agreeing records have no finding, and neither have empty ones', async (t) => {
  t.same(codes(), [])
  t.same(codes({ isOver: true }), [])
  t.same(judgeAssets(nothingKept()), [])
  const deleted = { ...streams.assets, 'asset-2': [...used, withdrawn, gone] }
  const away = [upstreamAsset, { ...upstreamUsed, deleted: true }]
  t.same(codes({ assets: deleted, upstream: { assets: away } }), [])
})

t.test('P1: assets unasked for, sent before their record, or sent twice', async (t) => {
  const more = (one: AcceptedAsset): Change => ({ upstream: { assets: [...record.assets, one] } })
  t.same(codes(more({ ...upstreamAsset, id: 'a-9', name: 'asset-9' })), ['unasked'])
  t.same(codes(more({ ...upstreamAsset, id: 'a-9' })), ['sent_twice', 'wrong_owner'])
  const early = { ...upstreamAsset, accepted_at: '2026-01-02T03:04:00.000Z' }
  t.same(codes({ upstream: { assets: [early, upstreamUsed] } }), ['intent_too_late'])
  t.same(codes({ upstream: { assets: [upstreamUsed] } }), ['made_up', 'wrong_end'])
  const twice = { ...session, id: 'session-2', group_id: null }
  t.same(codes({ upstream: { verifications: [session, twice] } }), ['sent_twice', 'wrong_owner'])
  t.same(
    codes({ upstream: { verifications: [session, { ...twice, client_marker: 'somebody' }] } }),
    ['unasked'],
  )
})

t.test('an accepted asset must not be given up, nor stay unknown', async (t) => {
  const [first] = asset
  const unknown = first === undefined ? [] : [first]
  t.same(codes({ assets: { 'asset-1': unknown } }), ['unfound'])
  const refused = [...unknown, said('AssetRefused')]
  t.same(codes({ assets: { 'asset-1': refused } }), ['given_up_wrongly'])
  const vanished = [{ ...upstreamAsset, gone: true }, upstreamUsed]
  t.same(codes({ assets: { 'asset-1': refused }, upstream: { assets: vanished } }), [])
})

t.test('the end of each asset must be upstream’s end', async (t) => {
  const open = asset.slice(0, 2)
  t.same(codes({ assets: { 'asset-1': open } }), ['end_unseen'])
  const working = { ...upstreamAsset, status: 'Processing', outcome: 'never' as const }
  const upstream = { assets: [working, upstreamUsed] }
  t.same(codes({ assets: { 'asset-1': open }, upstream }), [])
  t.same(codes({ assets: { 'asset-1': open }, upstream, isOver: true }), ['still_open'])
  const late = [...open, said('AssetFailed', { code: 'ProcessingTimedOut' })]
  t.same(codes({ assets: { 'asset-1': late }, upstream, isOver: true }), [])
  t.same(codes({ assets: { 'asset-1': late }, upstream }), ['wrong_end'])
  t.same(codes({ assets: { 'asset-1': late } }), ['wrong_end'])
  const failed = { ...upstreamAsset, status: 'Failed', outcome: 'Failed' as const }
  t.same(codes({ upstream: { assets: [failed, upstreamUsed] } }), ['wrong_end'])
  t.same(codes({ assets: { 'asset-1': [...asset, said('AssetFailed')] } }), [
    'two_ends',
    'wrong_end',
  ])
  t.same(codes({ assets: { 'asset-1': [...asset, said('AssetAccepted')] } }), ['twice'])
})

t.test('deletions: on both sides, requested, and after the last use', async (t) => {
  const away = { assets: [upstreamAsset, { ...upstreamUsed, deleted: true }] }
  t.same(codes({ assets: { 'asset-2': [...used, withdrawn] } }), ['deletion_unfinished'])
  t.same(codes({ assets: { 'asset-2': [...used, withdrawn, gone] } }), ['deletion_lost'])
  t.same(codes({ upstream: away }), ['deleted_unasked', 'left_behind'])
  const [use] = used.slice(-1)
  const usedLate = [...used.slice(0, 3), withdrawn, ...(use ? [use] : []), gone]
  t.same(codes({ assets: { 'asset-2': usedLate }, upstream: away }), ['used_after_withdrawal'])
  const early = [...used.slice(0, 2), ...used.slice(3), ...used.slice(2, 3)]
  t.same(codes({ assets: { 'asset-2': early } }), ['used_unready'])
  const groupGone = [...person, said('AssetGroupWithdrawn'), said('AssetGroupDeleted')]
  const groups = [upstreamGroup, { ...upstreamPerson, deleted: true }]
  t.same(codes({ groups: { 'group-2': groupGone }, upstream: { ...away, groups } }), [
    'left_behind',
  ])
  t.same(
    codes({
      groups: { 'group-2': groupGone },
      assets: { 'asset-2': [...used, withdrawn, gone] },
      upstream: { ...away, groups },
    }),
    [],
  )
  const witness = witnessed()
  for (const one of witness.assets.values()) one.deleted = true
  t.same(codes({ witness }), ['deletion_lost'])
})

t.test('the use of an asset of a person must be recorded', async (t) => {
  t.same(codes({ uses: [{ requestId: 'req_2', assetId: 'asset-2' }] }), ['use_unrecorded'])
  t.same(codes({ uses: [{ requestId: 'req_2', assetId: 'asset-1' }] }), [])
})

t.test('persons: verified by the page, once, with a group of their own', async (t) => {
  const failed = { verifications: [{ ...session, page: 'fail' as const, group_id: null }] }
  t.same(codes({ upstream: failed }), ['verified_in_vain', 'wrong_owner'])
  t.same(codes({ verifications: { v2: verified } }), ['owned_twice'])
  t.same(codes({ verifications: { v1: verified.slice(0, 1) } }), ['unverified'])
  t.same(codes({ verifications: { v2: verified.slice(0, 1) }, isOver: true }), ['still_open'])
  const other = [said('VerificationStarted', { groupId: 'group-3' }), ...verified.slice(1)]
  t.same(codes({ verifications: { v1: other } }), ['group_missing', 'unverified'])
  const witness = witnessed()
  witness.session('a0-2', TENANT).groupIds.add('group-8').add('group-9')
  t.same(codes({ witness }), ['id_lost', 'two_groups'])
})

t.test('callers are shown the log’s assets of their tenant only', async (t) => {
  const library = logged(streams)
  const findings = { ...nothingKept(), upstream: record, logged: library, isOver: false }
  const judged = (assets: readonly (readonly [string, string])[], groups: readonly string[]) => {
    const shown = new Map([[TENANT, { assets: new Map(assets), groups: new Set(groups) }]])
    const found = judgeAssets({ ...findings, witness: witnessed(), shown })
    return [...new Set(found.map(({ code }) => code))].sort()
  }
  const all = [
    ['asset-1', 'Active'],
    ['asset-2', 'Active'],
  ] as const
  t.same(judged(all, ['group-1', 'group-2']), [])
  t.same(judged(all.slice(1), ['group-1', 'group-2']), ['list_differs'])
  t.same(judged([...all, ['asset-9', 'Active']], ['group-1', 'group-2']), ['foreign_seen'])
  t.same(judged(all, ['group-1']), ['list_differs'])
  const witness = witnessed()
  witness.group({ id: 'group-7', tenantId: TENANT, region: 'domestic', isPerson: false })
  t.same(codes({ witness }), ['id_lost'])
  const missing = witnessed()
  for (const one of missing.groups.values()) one.missed = true
  t.same(codes({ witness: missing }), ['id_lost'])
  t.same(codes({ assets: { 'asset-2': used.slice(0, 2) }, uses: [] }), [
    'end_unseen',
    'shown_unrecorded',
  ])
})
