import type { ForeignNames } from '../../../api/kit/foreign-members.ts'
import { misspeltIn, type TellMisspelt } from '../../../api/kit/misspelt.ts'
import { type ActionName, actionNames } from './asked.ts'
import type { RunAction } from './call.ts'
import {
  createAsset,
  createAssetGroup,
  deleteAsset,
  deleteAssetGroup,
  getAsset,
  getAssetGroup,
  updateAsset,
  updateAssetGroup,
} from './kept.ts'
import { listAssetGroups, listAssets } from './listed.ts'
import { createVisualValidateSession, getVisualValidateResult } from './persons.ts'
import { alsoInActions, bodySchemas } from './schemas.ts'

/** What runs each action. */
export const runners: Readonly<Record<ActionName, RunAction>> = {
  CreateAssetGroup: createAssetGroup,
  CreateAsset: createAsset,
  ListAssetGroups: listAssetGroups,
  ListAssets: listAssets,
  GetAssetGroup: getAssetGroup,
  GetAsset: getAsset,
  UpdateAsset: updateAsset,
  UpdateAssetGroup: updateAssetGroup,
  DeleteAsset: deleteAsset,
  DeleteAssetGroup: deleteAssetGroup,
  CreateVisualValidateSession: createVisualValidateSession,
  GetVisualValidateResult: getVisualValidateResult,
}

/**
 * Refuses a body with a member that is one of the action's but for a slip, and of a creation one that
 * another creation has. @throws RequestError
 */
export function spellingCheck(foreign: ForeignNames): (action: ActionName, body: unknown) => void {
  const tellers: ReadonlyMap<ActionName, TellMisspelt> = new Map(
    actionNames.map((name) => {
      const names = name.startsWith('Create') ? { foreign } : {}
      return [name, misspeltIn(bodySchemas[name], alsoInActions[name] ?? {}, names)]
    }),
  )
  return (action, body) => {
    const error = tellers.get(action)?.(body)
    if (error !== undefined) throw error
  }
}
