import type { Call } from '../caller.ts'
import type { Check } from '../reach.ts'
import type { LoggedImageTask } from './tasks.ts'
import type { CallWitness } from '../calls/witness.ts'

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
