import { act, type LoggedLibrary, resultOf } from './assets/library.ts'
import { statusOf } from './assets/oracle.ts'
import type { AssetWitness } from './assets/witness.ts'
import type { Answer, Call, Tenant } from './caller.ts'
import type { CallWitness } from './calls/witness.ts'
import type { LoggedImageTask } from './calls/oracle.ts'
import type { LoggedTask } from './log-reader.ts'
import { SPEAK } from './speech/orders.ts'
import { RETRIEVE } from './speech/traffic.ts'
import { taskFamily } from './tasks/registry.ts'
import type { Difference, Witness } from './witness.ts'

/** Whether every id a caller was ever given is found, under both names, and says what the log says. */

const AT_ONCE = 8

/** One look at what a caller was given; undefined: it is as it should be. */
type Check = () => Promise<Difference | undefined>

export async function judgeReach(
  tenants: readonly Tenant[],
  witness: Witness,
  tasks: ReadonlyMap<string, LoggedTask>,
  further: readonly Check[],
): Promise<readonly Difference[]> {
  const differences: Difference[] = []
  const byNativeId = new Map([...tasks.values()].map((task) => [task.nativeId, task]))
  const checks: Check[] = [...further]
  const look = (id: string, task: LoggedTask): void => {
    const tenant = tenants.find(({ tenantId }) => tenantId === task.tenantId)
    checks.push(async () => {
      const answer = await tenant?.call('reach', 'GET', taskFamily(task.family).taskPath(id))
      const message = problemOf(answer, task)
      return message === undefined ? undefined : { code: 'out_of_reach', subject: id, message }
    })
  }
  for (const { marker, nativeIds, platformIds } of witness.intended.values()) {
    for (const id of nativeIds) {
      const task = byNativeId.get(id)
      if (task) look(id, task)
      else differences.push({ code: 'id_lost', subject: id, message: `told to ${marker}` })
    }
    for (const id of platformIds) {
      const task = tasks.get(id)
      // Told with a refusal before anything was recorded: there is nothing to find.
      if (task) look(id, task)
    }
  }
  for (const [id, sighting] of witness.sightings) {
    const task = tasks.get(id) ?? byNativeId.get(id)
    if (task === undefined) continue
    if (sighting.deleted === true && !task.deleted && task.end !== 'cancelled')
      differences.push({ code: 'deletion_lost', subject: id, message: `is ${task.end ?? 'open'}` })
    const [settlement] = task.settlements
    const settled = settlement && taskFamily(task.family).measured(settlement.usage)
    if (sighting.measured !== undefined && sighting.measured !== settled)
      differences.push({
        code: 'shown_not_settled',
        subject: id,
        message: `shown with ${sighting.measured}, settled ${settled ?? 'nothing'}`,
      })
  }
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let check = checks.pop(); check; check = checks.pop()) {
        const found = await check()
        if (found !== undefined) differences.push(found)
      }
    }),
  )
  return differences
}

function problemOf(answer: Answer | undefined, task: LoggedTask): string | undefined {
  if (answer === undefined) return 'no answer'
  const hidden = task.deleted || task.refused
  if (hidden) return answer.status === 404 ? undefined : `hidden, but answered ${answer.status}`
  if (answer.status !== 200) return `answered ${answer.status}`
  const { status } = taskFamily(task.family).sightOf(answer.body)
  if (task.end !== undefined && status !== task.end)
    return `shown as ${status}, in the log ${task.end}`
  return undefined
}

/** Whether every asset and group a caller was given is found, says what the log says, and is nobody else's. */
export function assetChecks(
  tenants: readonly Tenant[],
  { assets, groups }: AssetWitness,
  logged: LoggedLibrary,
): readonly Check[] {
  const look =
    (action: 'GetAsset' | 'GetAssetGroup', id: string, owner: string, should: string): Check =>
    async () => {
      for (const { tenantId, call } of tenants) {
        const shown = shownAs(await act(call, action, { Id: id }))
        const wanted = tenantId === owner ? should : '404'
        if (shown !== wanted)
          return { code: 'out_of_reach', subject: id, message: `${shown}, not ${wanted}` }
      }
      return undefined
    }
  const ofAssets = [...assets.values()].map(({ id, group }) => {
    const asset = logged.assets.get(id)
    return look('GetAsset', id, group.tenantId, (asset && statusOf(asset)) ?? '404')
  })
  const ofGroups = [...groups.values()].map(({ id, tenantId }) => {
    const phase = logged.groups.get(id)?.phase ?? 'deleted'
    const isThere = phase !== 'deleted' && phase !== 'refused'
    return look('GetAssetGroup', id, tenantId, isThere ? THERE : '404')
  })
  return [...ofAssets, ...ofGroups]
}

/** A group has no status. */
const THERE = 'there'

function shownAs(answer: Answer | undefined): string {
  if (answer === undefined) return 'no answer'
  if (answer.status !== 200) return String(answer.status)
  const { Status: status } = resultOf(answer)
  return typeof status === 'string' ? status : THERE
}

/** Whether every order and file that a caller was ever given an id of is found, and says what the log says. */

const STATUS_OF = {
  succeeded: 'completed',
  failed: 'failed',
  expired: 'failed',
} as const

export function imageChecks(
  call: Call,
  { ordered, files, shown }: CallWitness,
  tasks: ReadonlyMap<string, LoggedImageTask>,
): readonly Check[] {
  const checks: Check[] = []
  for (const { platformIds } of ordered.values())
    for (const id of platformIds) {
      const end = tasks.get(id)?.end
      const should = end && STATUS_OF[end]
      checks.push(async () => {
        const answer = await call('reach', 'GET', `/v1/images/generations/${id}`)
        const status = String(answer?.body['status'])
        const seen = shown.get(id)
        if (should === undefined || status !== should)
          return { code: 'out_of_reach', subject: id, message: `shown as ${status}, is ${end}` }
        if ((seen === 'completed' || seen === 'failed') && seen !== should)
          return { code: 'went_back', subject: id, message: `was shown as ${seen}, is ${should}` }
        return undefined
      })
    }
  for (const [id, { deletionTried, deleted }] of files)
    checks.push(async () => {
      const answer = await call('reach', 'GET', `/v1/files/${id}/content`)
      const isThere = answer?.status === 200
      if (deleted && answer?.status !== 404)
        return { code: 'deletion_lost', subject: id, message: `answered ${answer?.status}` }
      if (!deletionTried && !isThere)
        return { code: 'file_lost', subject: id, message: `answered ${answer?.status}` }
      return undefined
    })
  return checks
}

/** Whether every sample that was taken is found, and every voice that was cloned speaks. */
export function speechChecks(call: Call, { samples, voices }: CallWitness): readonly Check[] {
  const ofSamples = [...samples].map((id): Check => async () => {
    const answer = await call('reach', 'GET', `${RETRIEVE}?file_id=${id}`)
    const message = `answered ${answer?.status}`
    return answer?.status === 200 ? undefined : { code: 'file_lost', subject: id, message }
  })
  const ofVoices = [...voices].map((voice): Check => async () => {
    const body = { model: 'speech-2.8-hd', text: 'a boat', voice_id: voice }
    const answer = await call('reach', 'POST', SPEAK, { body })
    const message = `answered ${answer?.status}: ${answer?.text.slice(0, 200)}`
    return answer?.status === 200 ? undefined : { code: 'voice_lost', subject: voice, message }
  })
  return [...ofSamples, ...ofVoices]
}
