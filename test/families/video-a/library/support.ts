import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import type { ActionName } from '../../../../src/families/video-a/library/requests.ts'
import { startApp, type Harness, type Replaced } from '../../../api/support/app.ts'
import { assetId, credential, groupId } from '../../../api/support/memory-assets.ts'

/** What every answer of the library says. */
export interface Said {
  readonly ResponseMetadata: {
    readonly RequestId: string
    readonly Action?: string
    readonly Version?: string
    readonly Service: string
    readonly Region?: string
    readonly Error?: { readonly Code: string; readonly Message: string }
  }
  readonly Result?: unknown
}

/** A refusal in short. */
export interface Refused {
  readonly status: number
  readonly code: string | undefined
  readonly message: string | undefined
}

export interface Library extends Harness {
  /** Asks for an action; a body that is a string goes as it is. */
  readonly act: (
    action: ActionName,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<LightMyRequestResponse>
  /** The same where it must be refused before anybody is asked. */
  readonly refusal: (action: ActionName, body: unknown) => Promise<Refused>
}

export const VERSION = '2024-01-01'
export const urlOf = (action: string): string => `/provA/?Action=${action}&Version=${VERSION}`
export const asCaller = { authorization: 'Bearer sk-one', 'content-type': 'application/json' }

export const domestic = 'domestic-video-2-0'
export const overseas = 'overseas-video-2-0-mini'

/** Of each action a body that is right. */
export const good: Readonly<Record<ActionName, Readonly<Record<string, unknown>>>> = {
  CreateAssetGroup: { model: domestic, Name: 'heroes' },
  CreateAsset: {
    model: domestic,
    GroupId: groupId,
    URL: 'https://hooks.example.com/hero.png',
    AssetType: 'Image',
  },
  ListAssetGroups: { Filter: { GroupType: 'AIGC' } },
  ListAssets: { Filter: { GroupType: 'LivenessFace' } },
  GetAssetGroup: { Id: groupId },
  GetAsset: { Id: assetId },
  UpdateAsset: { Id: assetId, Name: 'villain' },
  UpdateAssetGroup: { Id: groupId, Name: 'villains' },
  DeleteAsset: { Id: assetId },
  DeleteAssetGroup: { Id: groupId },
  CreateVisualValidateSession: {
    model: domestic,
    CallbackURL: 'https://hooks.example.com/back',
  },
  GetVisualValidateResult: { model: domestic, ProviderToken: credential },
}

/** The interface over an asset library in memory. */
export async function startLibrary(t: Test, part: Replaced = {}): Promise<Library> {
  const harness = await startApp(part)
  t.teardown(async () => harness.app.close())
  const act: Library['act'] = async (action, body, headers = {}) =>
    harness.app.inject({
      method: 'POST',
      url: urlOf(action),
      headers: { ...asCaller, ...headers },
      payload: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const refusal: Library['refusal'] = async (action, body) => {
    const before = harness.assets.asked.length
    const answer = await act(action, body)
    t.equal(harness.assets.asked.length, before, `${action}: the use case was not called`)
    return refused(answer)
  }
  return { ...harness, act, refusal }
}

export function refused(answer: LightMyRequestResponse): Refused {
  const { Error: error } = answer.json<Said>().ResponseMetadata
  return { status: answer.statusCode, code: error?.Code, message: error?.Message }
}
