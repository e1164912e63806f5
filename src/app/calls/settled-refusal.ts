import type { Settlement } from '../../domain/pricing/settlement.ts'
import { DomainError } from '../../kernel/errors.ts'

/** A refusal of a call that is settled all the same: its caller is told what it cost. */
export class SettledRefusal extends DomainError {
  readonly settlement: Settlement

  constructor(refusal: DomainError, settlement: Settlement) {
    super(refusal.code, refusal.message, refusal.details)
    this.settlement = settlement
  }
}
