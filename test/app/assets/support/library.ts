import type { AssetUseCases, ModelRequest } from '../../../../src/app/assets/types.ts'
import { type AssetEvent, assetStream } from '../../../../src/domain/asset/events.ts'
import {
  type AssetGroupEvent,
  assetGroupStream,
} from '../../../../src/domain/asset-group/events.ts'
import type { EventLog } from '../../../../src/eventlog/log/types.ts'
import { newRequestId } from '../../../../src/kernel/ids.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { principalOf } from '../../support/world.ts'

/** What the API would hand over for actions of the library. */

export const MODEL = 'domestic-video-2-0'
export const OVERSEAS = 'overseas-video-2-0'

export function asking(tenantId?: string, userId?: string) {
  const principal = principalOf(tenantId)
  return {
    principal: userId === undefined ? principal : { ...principal, userId },
    requestId: newRequestId(Date.now()),
  }
}

export function placing(wish: Partial<ModelRequest> = {}): ModelRequest {
  return { ...asking(), model: MODEL, projectName: undefined, ...wish }
}

export function naming(id: string, tenantId?: string, userId?: string) {
  return { ...asking(tenantId, userId), id, model: undefined, projectName: undefined }
}

/** An address that tells the sandbox what to do with it. */
export function address(switches = ''): string {
  const marker = switches === '' ? '' : encodeURIComponent(`[[sandbox ${switches}]]`)
  return `https://media.example.com/${marker}a.png`
}

export async function newGroup(
  library: AssetUseCases,
  wish: Partial<ModelRequest> = {},
): Promise<string> {
  const { groupId } = await library.createGroup({
    ...placing(wish),
    name: 'boats',
    description: '',
  })
  return groupId
}

export async function newAsset(
  library: AssetUseCases,
  groupId: string,
  { switches = '', ...wish }: Partial<ModelRequest> & { readonly switches?: string } = {},
): Promise<string> {
  const { assetId } = await library.createAsset({
    ...placing(wish),
    groupId,
    url: address(switches),
    assetType: 'Image',
    name: 'a boat',
  })
  return assetId
}

/** Verifies a person at the sandbox's page and has their group. */
export async function newPerson(
  library: AssetUseCases,
  wish: Partial<ModelRequest> = {},
): Promise<string> {
  const order = placing(wish)
  const callbackUrl = 'https://caller.example.com/done'
  const { credential, link } = await library.startVerification({ ...order, callbackUrl })
  await passVerification(link)
  const { groupId } = await library.verificationResult({ ...placing(wish), credential })
  if (groupId === undefined) throw new Error('the person was not verified')
  return groupId
}

/** Does what the person's browser does; where it is sent. */
export async function passVerification(
  link: string,
  outcome: 'pass' | 'fail' = 'pass',
): Promise<string> {
  const answer = await fetch(link, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ outcome }).toString(),
  })
  const location = answer.headers.get('location')
  if (location === null) throw new Error(`the page answered ${answer.status}`)
  return location
}

export async function activeAsset(
  library: AssetUseCases,
  groupId: string,
  wish: Partial<ModelRequest> = {},
) {
  const assetId = await newAsset(library, groupId, wish)
  const principal = wish.principal ?? asking().principal
  await eventually('the asset is active', async () => {
    const { status } = await library.getAsset({ ...naming(assetId), principal })
    return status === 'Active' ? true : undefined
  })
  return assetId
}

export async function assetEventsOf(
  log: EventLog,
  assetId: string,
): Promise<readonly AssetEvent[]> {
  return (await log.readStream(assetStream(assetId))) as readonly AssetEvent[]
}

export async function groupEventsOf(
  log: EventLog,
  groupId: string,
): Promise<readonly AssetGroupEvent[]> {
  return (await log.readStream(assetGroupStream(groupId))) as readonly AssetGroupEvent[]
}

export function typesOf(events: readonly { readonly type: string }[]): readonly string[] {
  return events.map(({ type }) => type)
}
