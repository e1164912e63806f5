import { misspeltIn, type TellMisspelt } from '../../kit/misspelt.ts'
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

const tellers: ReadonlyMap<ActionName, TellMisspelt> = new Map(
  actionNames.map((name) => [name, misspeltIn(bodySchemas[name], alsoInActions[name] ?? {})]),
)

/** Refuses a body with a member that is one of the action's but for a slip. @throws RequestError */
export function checkSpelling(action: ActionName, body: unknown): void {
  const error = tellers.get(action)?.(body)
  if (error !== undefined) throw error
}
