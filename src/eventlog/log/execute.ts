import type { AnyEvent } from '../../domain/any-event.ts'
import type { Decider } from '../../domain/decider.ts'
import { isDomainError } from '../../kernel/errors.ts'
import { eventId } from '../../kernel/ids.ts'
import { createBackoff, pause } from '../../kernel/pause.ts'
import type { EventLog, EventMetadata, NewEvent, RecordedEvent } from './types.ts'
import { currentSchemaVersion } from './codec.ts'
import { readPages } from './pages.ts'

/** How often a command is decided again because another writer appended first. */
const MAX_DECISIONS = 12
const CONFLICT_BACKOFF_MIN_MS = 2
const CONFLICT_BACKOFF_MAX_MS = 100

export interface ExecuteInput<State, Command, Event extends AnyEvent> {
  readonly log: EventLog
  readonly stream: string
  readonly decider: Decider<State, Command, Event>
  readonly command: Command
  /** Permanent id of this command: a repetition on this stream appends nothing. */
  readonly commandId: string
  readonly metadata: Omit<EventMetadata, 'schemaVersion' | 'commandId'>
  /**
   * The state of the stream as the caller knows it, so that the first decision reads nothing;
   * `'none'` if the stream is new. If that state is outdated, the command is decided again on what
   * the log has.
   */
  readonly known?: 'none' | StreamState<State>
  /**
   * The state at a revision that the caller has read before: the stream is read on from there. It is
   * read from its beginning once an append has found another revision.
   */
  readonly readBefore?: StreamState<State> | undefined
}

/** The state of a stream after the event of a revision. */
export interface StreamState<State> {
  readonly state: State
  readonly revision: bigint
}

/** An event of this command as stored in the log. */
type ExecutedEvent<Event extends AnyEvent> = Event & {
  readonly id: string
  readonly metadata: EventMetadata
  readonly stream: string
  readonly revision: bigint
}

export interface ExecuteResult<State, Event extends AnyEvent> {
  /** State with this command's events applied. */
  readonly state: State
  /** This command's events, even if an earlier try appended them; empty if it decided none. */
  readonly events: readonly ExecutedEvent<Event>[]
  /** Revision of the stream's last event; undefined while the stream is empty. */
  readonly revision: bigint | undefined
  /**
   * Position of the last of `events`; absent if the log did not report it or nothing was appended.
   */
  readonly position?: bigint
}

interface Loaded<State, Event extends AnyEvent> {
  readonly state: State
  readonly revision: bigint | undefined
  readonly own: readonly (ExecutedEvent<Event> & { readonly position: bigint })[]
}

async function load<State, Command, Event extends AnyEvent>(
  input: ExecuteInput<State, Command, Event>,
  before?: StreamState<State>,
): Promise<Loaded<State, Event>> {
  const { stream, decider, commandId, log } = input
  const own: (ExecutedEvent<Event> & { readonly position: bigint })[] = []
  const onEvent = (event: RecordedEvent): void => {
    if (
      event.metadata.commandId === commandId &&
      event.id === eventId(stream, commandId, own.length)
    )
      own.push(event as unknown as ExecutedEvent<Event> & { readonly position: bigint })
  }
  return { ...(await readOn(log, stream, decider, before, onEvent)), own }
}

/** Reads the rest of a stream from an earlier state, and folds it. */
export async function readOn<State, Event extends AnyEvent>(
  log: Pick<EventLog, 'readStream'>,
  stream: string,
  { initial, evolve }: Pick<Decider<State, never, Event>, 'initial' | 'evolve'>,
  before: StreamState<State> | undefined,
  onEvent?: (event: RecordedEvent) => void,
): Promise<{ readonly state: State; readonly revision: bigint | undefined }> {
  let { state, revision }: { state: State; revision: bigint | undefined } = before ?? {
    state: initial,
    revision: undefined,
  }
  const first = revision === undefined ? 0n : revision + 1n
  for await (const event of readPages(log, stream, first)) {
    // A stream holds only events of one aggregate: its name comes from that aggregate.
    state = evolve(state, event as unknown as Event)
    revision = event.revision
    onEvent?.(event)
  }
  return { state, revision }
}

/** The state that the caller knows; undefined if it knows none. */
function assumed<State, Command, Event extends AnyEvent>({
  known,
  decider,
}: ExecuteInput<State, Command, Event>): Loaded<State, Event> | undefined {
  if (known === undefined) return undefined
  if (known === 'none') return { state: decider.initial, revision: undefined, own: [] }
  return { ...known, own: [] }
}

/**
 * Reads, folds, decides and appends at the revision read; decides again when another writer was
 * first. A command whose events are already in the log is recognised by their ids and not decided
 * again.
 * @throws what `decide` throws, and the codes of `EventLog`; after `log_outcome_unknown` the same
 *   command may be executed again.
 */
export async function executeCommand<State, Command, Event extends AnyEvent>(
  input: ExecuteInput<State, Command, Event>,
): Promise<ExecuteResult<State, Event>> {
  const backoff = createBackoff(CONFLICT_BACKOFF_MIN_MS, CONFLICT_BACKOFF_MAX_MS)
  let loaded = assumed(input)
  let isRead = loaded === undefined
  loaded ??= await load(input, input.readBefore)
  for (let decisions = 1; ; decisions += 1) {
    const { state, revision, own } = loaded
    const landed = own.at(-1)
    if (landed !== undefined) return { state, events: own, revision, position: landed.position }
    let decided: readonly Event[]
    try {
      decided = input.decider.decide(input.command, state)
    } catch (error) {
      if (isRead) throw error
      // The caller's state may be outdated: before a command is refused, the stream is read.
      loaded = await load(input)
      isRead = true
      continue
    }
    if (decided.length === 0) return { state, events: [], revision }
    try {
      return await appendDecided(input, loaded, decided)
    } catch (error) {
      if (!isDomainError(error, 'wrong_expected_revision') || decisions >= MAX_DECISIONS)
        throw error
    }
    await pause(backoff.nextMs())
    loaded = await load(input)
    isRead = true
  }
}

async function appendDecided<State, Command, Event extends AnyEvent>(
  input: ExecuteInput<State, Command, Event>,
  { state, revision }: Loaded<State, Event>,
  decided: readonly Event[],
): Promise<ExecuteResult<State, Event>> {
  const { stream, commandId, log, decider } = input
  const first = revision === undefined ? 0n : revision + 1n
  const events = decided.map((event, index) => ({
    ...event,
    id: eventId(stream, commandId, index),
    metadata: { ...input.metadata, commandId, schemaVersion: currentSchemaVersion(event.type) },
    stream,
    revision: first + BigInt(index),
  }))
  const appended = await log.append(
    stream,
    events.map(({ stream: _stream, revision: _revision, ...event }) => event as NewEvent),
    revision ?? 'no_stream',
  )
  return {
    state: decided.reduce(decider.evolve, state),
    events,
    revision: first + BigInt(decided.length - 1),
    ...(appended.position === undefined ? {} : { position: appended.position }),
  }
}
