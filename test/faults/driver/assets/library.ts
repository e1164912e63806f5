import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Call } from '../caller.ts'
import { type LoggedEvent, streamsOf } from '../log-reader.ts'

/** How callers ask the asset library, and what their addresses tell the simulated one. */

const VERSION = '2024-01-01'
/** Public without being looked up; nothing ever goes there. */
const NOWHERE = 'https://93.184.216.34'

type Fields = Readonly<Record<string, unknown>>

/** Asks for an action; undefined when there was no answer. */
export function act(call: Call, action: string, body: Fields): Promise<Answer | undefined> {
  return call(action, 'POST', `/provA/?Action=${action}&Version=${VERSION}`, { body })
}

/** What stands in `Result`; empty where an answer has none. */
export function resultOf({ body }: Answer): Fields {
  return (body['Result'] ?? {}) as Fields
}

/** An address that says how what is asked for with it goes, and what a test calls it. */
export function addressWith(switches: readonly string[], marker?: string): string {
  const client = marker === undefined ? '' : `[[client=${marker}]]`
  const words = switches.length === 0 ? '' : `[[sandbox ${switches.join(' ')}]]`
  return `${NOWHERE}/${encodeURIComponent(`${client}${words}`)}a`
}

/** What a tenant's own lists show: the read model as callers see it. */

const PAGE = 100
/** A read model that a dead process left behind catches up within it. */
const PATIENCE_MS = 120_000
const PAUSE_MS = 250

export interface Shown {
  /** Statuses by id. */
  readonly assets: ReadonlyMap<string, string>
  readonly groups: ReadonlySet<string>
}

type Item = Readonly<Record<string, unknown>>

async function answered(
  call: Call,
  action: string,
  body: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const untilMs = performance.now() + PATIENCE_MS
  for (;;) {
    const answer = await act(call, action, body)
    if (answer?.status === 200) return answer
    if (performance.now() > untilMs)
      throw new Error(`${action} answered ${answer?.status ?? 'nothing'}`)
    await sleep(PAUSE_MS)
  }
}

async function allOf(call: Call, action: string, groupType: string): Promise<readonly Item[]> {
  const items: Item[] = []
  for (let number = 1; ; number += 1) {
    const answer = await answered(call, action, {
      Filter: { GroupType: groupType },
      PageNumber: number,
      PageSize: PAGE,
      SortOrder: 'Asc',
    })
    const { Items: page, TotalCount: total } = resultOf(answer)
    items.push(...(page as readonly Item[]))
    if (items.length >= Number(total) || (page as readonly Item[]).length === 0) return items
  }
}

/** Everything a tenant is shown, page by page. @throws when a list is not answered */
export async function readLists(call: Call): Promise<Shown> {
  const both = async (action: string): Promise<readonly Item[]> => [
    ...(await allOf(call, action, 'AIGC')),
    ...(await allOf(call, action, 'LivenessFace')),
  ]
  const assets = await both('ListAssets')
  const groups = await both('ListAssetGroups')
  return {
    assets: new Map(assets.map(({ Id: id, Status: status }) => [String(id), String(status)])),
    groups: new Set(groups.map(({ Id: id }) => String(id))),
  }
}

/** What the simulated libraries say of what they accepted, deleted things too. */

interface Recorded {
  readonly seq: number
  readonly id: string
  readonly client_marker: string | null
  readonly accepted_at: string
}

interface StoredRecord extends Recorded {
  /** What it was asked for as; empty of a person's group. */
  readonly name: string
  readonly group_type: string
  readonly deleted: boolean
}

/** Of `GET /__sandbox/assets`. */
export interface AcceptedAsset extends StoredRecord {
  readonly group_id: string
  readonly status: string
  /** What it ends in, already or later. */
  readonly outcome: 'Active' | 'Failed' | 'never'
  readonly gone: boolean
}

/** Of `GET /__sandbox/asset-groups`. */
export type AcceptedGroup = StoredRecord

/** Of `GET /__sandbox/verifications`. */
interface AcceptedVerification extends Recorded {
  readonly page: 'pass' | 'fail' | null
  /** Of the person, once there is one. */
  readonly group_id: string | null
}

export interface LibraryRecord {
  readonly assets: readonly AcceptedAsset[]
  readonly groups: readonly AcceptedGroup[]
  readonly verifications: readonly AcceptedVerification[]
}

const TIMEOUT_MS = 60_000
const RECORD_PAGE = 1_000

async function all<Item>(url: string): Promise<readonly Item[]> {
  const items: Item[] = []
  for (let after: number | null = 0; after !== null;) {
    const response: Response = await fetch(`${url}?after=${after}&limit=${RECORD_PAGE}`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!response.ok) throw new Error(`the sandbox answered ${response.status} to ${url}`)
    const page = (await response.json()) as {
      readonly items: readonly Item[]
      readonly next_after: number | null
    }
    items.push(...page.items)
    after = page.next_after
  }
  return items
}

/** Everything a sandbox's libraries accepted, oldest first. */
export async function readLibrary(sandboxUrl: string): Promise<LibraryRecord> {
  const at = `${sandboxUrl}/__sandbox`
  const [assets, groups, verifications] = await Promise.all([
    all<AcceptedAsset>(`${at}/assets`),
    all<AcceptedGroup>(`${at}/asset-groups`),
    all<AcceptedVerification>(`${at}/verifications`),
  ])
  return { assets, groups, verifications }
}

/** The library as the log has it: one fold for assets and groups, another for verifications. */

export type Phase =
  | 'created'
  | 'processing'
  | 'active'
  | 'failed'
  | 'refused'
  | 'withdrawn'
  | 'deleted'

/** An asset or a group as its own stream tells it; a group that upstream has is `active`. */
export interface LoggedThing {
  readonly id: string
  readonly events: readonly Pick<LoggedEvent, 'type' | 'data'>[]
  readonly tenantId: string
  readonly groupType: string
  /** Of an asset. */
  readonly groupId: string | undefined
  readonly createdAtMs: number
  readonly nativeId: string | undefined
  readonly phase: Phase
  /** Why it failed. */
  readonly code: string | undefined
}

interface LoggedVerification {
  readonly id: string
  readonly events: readonly Pick<LoggedEvent, 'type' | 'data'>[]
  readonly groupId: string
  readonly phase: 'started' | 'confirmed' | 'expired'
  readonly nativeGroupId: string | undefined
}

export interface LoggedLibrary {
  readonly assets: ReadonlyMap<string, LoggedThing>
  readonly groups: ReadonlyMap<string, LoggedThing>
  readonly verifications: ReadonlyMap<string, LoggedVerification>
}

const phases: Readonly<Record<string, Phase>> = {
  AssetCreated: 'created',
  AssetRefused: 'refused',
  AssetActivated: 'active',
  AssetFailed: 'failed',
  AssetWithdrawn: 'withdrawn',
  AssetDeleted: 'deleted',
  AssetGroupCreated: 'created',
  AssetGroupRefused: 'refused',
  AssetGroupWithdrawn: 'withdrawn',
  AssetGroupDeleted: 'deleted',
}

/** Every asset, group and verification of a log, by our id. */
export function libraryOf(log: readonly LoggedEvent[]): LoggedLibrary {
  const each = <Of>(prefix: string, fold: (id: string, events: readonly LoggedEvent[]) => Of) =>
    new Map([...streamsOf(log, prefix)].map(([id, events]) => [id, fold(id, events)] as const))
  return {
    assets: each('asset-', thing),
    groups: each('assetgroup-', thing),
    verifications: each('verification-', verification),
  }
}

type Told = LoggedThing['events']

export function thing(id: string, events: Told): LoggedThing {
  const [created] = events
  const { tenantId, groupType, groupId, assetId, createdAt } = created?.data ?? {}
  let phase: Phase = 'created'
  for (const { type } of events) {
    // What was withdrawn before anybody knew what upstream calls it stays withdrawn.
    if (type === 'AssetAccepted') phase = phase === 'created' ? 'processing' : phase
    else if (type === 'AssetGroupAccepted') phase = 'active'
    else phase = phases[type] ?? phase
  }
  const accepted = events.find(({ type }) => /^Asset(?:Group)?Accepted$/.test(type))?.data
  const failed = events.find(({ type }) => type === 'AssetFailed')?.data
  return {
    id,
    events,
    tenantId: String(tenantId),
    groupType: String(groupType),
    groupId: assetId === undefined ? undefined : String(groupId),
    createdAtMs: Date.parse(String(createdAt)),
    nativeId: accepted && String(accepted['nativeId']),
    phase,
    code: failed && String(failed['code']),
  }
}

export function verification(id: string, events: Told): LoggedVerification {
  const of = (type: string) => events.find((one) => one.type === type)?.data
  const confirmed = of('VerificationConfirmed')
  const isExpired = of('VerificationExpired') !== undefined
  return {
    id,
    events,
    groupId: String(of('VerificationStarted')?.['groupId']),
    phase: confirmed !== undefined ? 'confirmed' : isExpired ? 'expired' : 'started',
    nativeGroupId: confirmed && String(confirmed['nativeGroupId']),
  }
}
