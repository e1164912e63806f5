/**
 * The shape of every aggregate: two pure functions and an initial state. Ids and time arrive inside
 * the command; expected failures are events, broken rules throw a `DomainError`.
 */
export interface Decider<State, Command, Event extends DomainEvent> {
  readonly initial: State
  readonly decide: (command: Command, state: State) => readonly Event[]
  readonly evolve: (state: State, event: Event) => State
}

/** An event before it is recorded. */
export interface DomainEvent {
  readonly type: string
  readonly data: unknown
}
