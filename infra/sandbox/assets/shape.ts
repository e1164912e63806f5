import type { FamilyKit } from '../family.ts'
import { signUrl } from '../media/files.ts'
import type { TaskState } from '../tasks/record.ts'
import { MEDIA_PATH } from './media.ts'
import { type AssetRecord, type GroupRecord, statusOf } from './record.ts'

/** How answers show what a library has. */

/** An asset can be looked at for so long after it was asked for, seconds. */
const URL_SECONDS = 600

/** Why an asset failed that was given no reason. */
const UNSAID = 'TranscodingFailed'

/** As this wire writes times. */
function timeOf(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`
}

/** An asset as it stands. */
export function assetShape(
  asset: AssetRecord,
  state: TaskState,
  kit: Pick<FamilyKit, 'baseUrl' | 'options' | 'clock'>,
): object {
  const { id, name, assetType, groupId, projectName, plan } = asset
  const status = statusOf(state)
  const code = plan.failCode ?? UNSAID
  const url = (): string => signUrl(kit, `${MEDIA_PATH}/${id}`, kit.clock.nowMs(), URL_SECONDS)
  return {
    Id: id,
    Name: name,
    AssetType: assetType,
    GroupId: groupId,
    Status: state.strange ?? status,
    ...(status === 'Active' ? { URL: url() } : {}),
    // As upstreams do, it says more than anybody else should see.
    ...(status === 'Failed'
      ? { Error: { Code: code, Message: `The media was refused: ${code}. See ${url()}` } }
      : {}),
    ProjectName: projectName,
    CreateTime: timeOf(asset.acceptedAtMs),
    UpdateTime: timeOf(Math.max(asset.updatedAtMs, state.atMs)),
  }
}

/** A group. */
export function groupShape(group: GroupRecord): object {
  return {
    Id: group.id,
    Name: group.name,
    Description: group.description,
    GroupType: group.groupType,
    ProjectName: group.projectName,
    CreateTime: timeOf(group.acceptedAtMs),
    UpdateTime: timeOf(group.updatedAtMs),
  }
}
