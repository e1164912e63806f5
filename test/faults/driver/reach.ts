import type { Answer, Tenant } from './caller.ts'
import type { LoggedTask } from './log-reader.ts'
import { taskFamily } from './tasks/registry.ts'
import type { Difference, Witness } from './witness.ts'

/** Whether every id a caller was ever given is found, under both names, and says what the log says. */

const AT_ONCE = 8

/** One look at what a caller was given; undefined: it is as it should be. */
export type Check = () => Promise<Difference | undefined>

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
