import {
  assetDecider,
  type AssetActor,
  type AssetCommand,
  type AssetState,
} from '../../../src/domain/asset/decider.ts'
import type { AssetEvent, AssetEventData } from '../../../src/domain/asset/events.ts'

/** Given / When / Then for the asset decider, and the facts its tests share. */

export const assetId = 'asset-01JD0000000000000000000001'
export const groupId = 'group-01JD0000000000000000000002'
export const at = '2026-01-02T03:05:00.000Z'
export const fault = { code: 'FaceMismatch', message: 'another person' } as const

/** The user who had it made; others by what they differ in. */
export const actor = (other: Partial<AssetActor> = {}): AssetActor => ({
  tenantId: 'tenant_1',
  userId: 'user_1',
  tokenId: 'token_1',
  requestId: 'req_1',
  at,
  ...other,
})

export const created = {
  assetId,
  tenantId: 'tenant_1',
  userId: 'user_1',
  tokenId: 'token_1',
  requestId: 'req_0',
  region: 'domestic',
  projectName: 'default',
  channelId: 'video-a-1',
  groupId,
  groupType: 'LivenessFace',
  assetType: 'Image',
  name: 'hero-front',
  createdAt: '2026-01-02T03:04:05.000Z',
} as const satisfies AssetEventData<'AssetCreated'>

export const create: AssetCommand = { kind: 'create', asset: created }
export const createGeneral: AssetCommand = {
  kind: 'create',
  asset: { ...created, groupType: 'AIGC' },
}
export const accept: AssetCommand = { kind: 'accept', nativeId: 'n-1', learntFrom: 'answer', at }
export const find: AssetCommand = { kind: 'accept', nativeId: 'n-1', learntFrom: 'list', at }
export const refuse: AssetCommand = { kind: 'refuse', fault, at }
export const seeActive: AssetCommand = { kind: 'observe', seen: 'active', at }
export const seeFailed: AssetCommand = { kind: 'observe', seen: { failed: fault }, at }
export const confirmDeleted: AssetCommand = { kind: 'confirmDeleted', at }
export const use = (by = actor()): AssetCommand => ({ kind: 'use', by })
export const withdraw = (by = actor()): AssetCommand => ({ kind: 'withdraw', by })
export const rename = (name = 'hero-left', by = actor()): AssetCommand => ({
  kind: 'rename',
  by,
  name,
})

export const active = [create, accept, seeActive] as const
export const withdrawn = [...active, withdraw()] as const
export const deleted = [...withdrawn, confirmDeleted] as const

/** Takes commands one after another. */
export function given(...commands: readonly AssetCommand[]): AssetState {
  return commands.reduce<AssetState>(
    (state, command) => assetDecider.decide(command, state).reduce(assetDecider.evolve, state),
    assetDecider.initial,
  )
}

/** What a command decides to after others. */
export function after(...commands: readonly AssetCommand[]): {
  readonly when: (command: AssetCommand) => readonly AssetEvent[]
} {
  const state = given(...commands)
  return { when: (command) => assetDecider.decide(command, state) }
}
