/** What a piece of work used in place of what was reserved for it. */
export interface Used {
  readonly amountPico: bigint
  /** Tokens that count towards a limit a minute. */
  readonly tokens: number
  /** Where the log has it; undefined where that is not known yet. */
  readonly position: bigint | undefined
}

/** Why a reservation ends without use: the work failed once it had begun, or it never began. */
export type NotUsed = 'failed' | 'not_started'

/**
 * Something reserved for one piece of work: funds, budgets, requests and tokens a minute, a place among
 * calls at a time. The first end counts, a second does nothing, and none of them throws.
 */
export interface Reservation {
  /** It is in the log, or may be: what was used replaces what was reserved. */
  readonly commit: (used: Used) => void
  /** It is certainly not in the log. A request that failed still counts as one; one that never began does not. */
  readonly release: (why: NotUsed) => void
}

/** Reservations of one piece of work, which end together. */
export interface Reservations extends Reservation {
  /** Undefined is nothing that has to end. */
  readonly add: (one: Reservation | undefined) => void
}

/** Ends all that was added, the last first. */
export function createReservations(): Reservations {
  let open: Reservation[] = []
  const end = (how: (one: Reservation) => void): void => {
    const ending = open.toReversed()
    open = []
    for (const one of ending) how(one)
  }
  return {
    add: (one) => {
      if (one !== undefined) open.push(one)
    },
    commit: (used) => end((one) => one.commit(used)),
    release: (why) => end((one) => one.release(why)),
  }
}
