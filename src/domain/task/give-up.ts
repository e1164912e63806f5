import { unreachable } from '../../kernel/assert.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { type ExpiryCatalog, latestEndMs } from '../catalog/latest-end.ts'
import type { TaskEvent } from './events.ts'
import type { TaskCommandOf, TaskState } from './state.ts'

/** The failure of a task that an operator gave up. */
const givenUpFailure = {
  code: 'given_up',
  message: 'The task was given up, because its outcome was not known: nothing is charged.',
} as const

/** Upstream may still report its usage: a task is given up only after it had this long to do so. */
const USAGE_PATIENCE_MS = 3_600_000

function refuse(why: string): never {
  throw new DomainError('give_up_refused', `the task is not given up: ${why}`, {})
}

/** Refuses a task whose outcome is known, or will be; the words say what to do instead. */
function checkOpen(state: TaskState, at: string, { taskFamily }: ExpiryCatalog): void {
  switch (state.phase) {
    case 'uncertain':
      return
    case 'active': {
      const { awaitsUsageSince, status } = state
      if (awaitsUsageSince === undefined) {
        const { family, requestedAt, expiresAt } = state.request
        const task = {
          requestedAtMs: fromTimestamp(requestedAt),
          expiresAtMs: fromTimestamp(expiresAt),
        }
        const untilMs = latestEndMs(taskFamily(family), task)
        refuse(`it is ${status} upstream, and ends by ${toTimestamp(untilMs)} at the latest`)
      }
      const patientUntilMs = fromTimestamp(awaitsUsageSince) + USAGE_PATIENCE_MS
      if (fromTimestamp(at) < patientUntilMs)
        refuse(
          `its result is made, and the provider may report its usage until ${toTimestamp(patientUntilMs)}; it can be given up after that`,
        )
      return
    }
    case 'none':
    case 'requested':
      return refuse('it is being sent, and its outcome is known soon')
    case 'started':
      return refuse('the gateway is making it')
    case 'refused':
      return refuse('it was refused before it began, and holds nothing')
    case 'ended':
      return refuse(`it has ended: ${state.givenUp ? 'it was given up before' : state.status}`)
    default:
      return unreachable(state)
  }
}

/**
 * Ends a task of which the outcome is not known, at the cost of the operator. Nothing is sent again
 * (P5), and what appears later is not billed.
 *
 * @throws DomainError `give_up_refused`
 */
export function giveUp(
  { noteId, at }: TaskCommandOf<'give-up'>,
  state: TaskState,
  catalog: ExpiryCatalog,
): readonly TaskEvent[] {
  if (state.phase === 'ended' && state.givenUp?.noteId === noteId) return []
  checkOpen(state, at, catalog)
  if (state.phase !== 'uncertain' && state.phase !== 'active') return []
  const { platformId } = state.request
  return [
    {
      type: 'TaskFailed',
      data: {
        platformId,
        ...givenUpFailure,
        possibleCostLeak: true,
        givenUp: { noteId },
        failedAt: at,
      },
    },
  ]
}
