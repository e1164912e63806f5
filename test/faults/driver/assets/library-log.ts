import { type LoggedEvent, streamsOf } from '../log-reader.ts'

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

export interface LoggedVerification {
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
