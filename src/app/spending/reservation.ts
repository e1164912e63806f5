/** The part of a reservation that a piece of work used. */
export interface Used {
  readonly amountPico: bigint
  /** Tokens that count towards a limit a minute. */
  readonly tokens: number
  /** Position in the log; undefined while it is not known. */
  readonly position: bigint | undefined
}

/** Why a reservation ends without use: the work failed once it had begun, or it never began. */
type NotUsed = 'failed' | 'not_started'

/**
 * A reservation for one piece of work: funds, budgets, requests and tokens per minute, a place
 * among concurrent calls. The first end counts, a second one does nothing, and neither throws.
 */
export interface Reservation {
  /** The log has the work, or may have it: the amounts used replace the reserved ones. */
  readonly commit: (used: Used) => void
  /** Certainly not in the log. A failed request still counts; one that never began does not. */
  readonly release: (why: NotUsed) => void
}

/** Reservations of one piece of work, which end together. */
interface Reservations extends Reservation {
  /** Undefined entries add nothing. */
  readonly add: (one: Reservation | undefined) => void
}

/** Ends all added reservations, the last first. */
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
