import type { Decider } from '../decider.ts'
import { type ClosePeriod, closePeriod } from './close.ts'
import type { StatementEvent } from './events.ts'
import { noStatements, type StatementsState, statementsAfter } from './periods.ts'
import {
  type ApproveVoid,
  approveVoid,
  type ProposeVoid,
  proposeVoid,
  type RejectVoid,
  rejectVoid,
} from './void.ts'

export type StatementCommand = ClosePeriod | ProposeVoid | ApproveVoid | RejectVoid

/**
 * The closes of a tenant: in each currency, months are closed in their order, and voided from the
 * last one on. Repetitions decide to no event.
 *
 * @throws DomainError those of `close.ts` and of `void.ts`
 */
export const statementDecider: Decider<StatementsState, StatementCommand, StatementEvent> = {
  initial: noStatements,
  decide: (command, state) => {
    switch (command.kind) {
      case 'close':
        return closePeriod(command, state)
      case 'propose-void':
        return proposeVoid(command, state)
      case 'approve-void':
        return approveVoid(command, state)
      case 'reject-void':
        return rejectVoid(command, state)
    }
  },
  evolve: statementsAfter,
}
