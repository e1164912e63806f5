import { eventsThrough, isBehind, type LogPosition } from '../../src/eventlog/log/position.ts'
import { CheckpointMovedError, type StopReason } from './failures.ts'
import type { Queryable } from './queryable.ts'

/** Position of a projection before the first event. */
export const BEFORE_FIRST: LogPosition = { commit: -1n, prepare: -1n }

/** An event by its position, so that it can be found in the log again. */
export interface EventReference {
  readonly id: string
  readonly stream: string
  /** Decimal. */
  readonly revision: string
}

export interface Checkpoint {
  readonly name: string
  readonly version: number
  /** Position from which to continue. */
  readonly at: LogPosition
  /** Every event up to this position was considered; -1 before the first. */
  readonly position: bigint
  /** Events of our namespace considered so far. */
  readonly events: bigint
  /** Time at which the last considered event was recorded. */
  readonly recordedAt: Date | undefined
  /** The last event considered. */
  readonly lastEvent: EventReference | undefined
  /** Whether the secondary indexes exist. */
  readonly indexed: boolean
  readonly stopped: StopReason | undefined
}

/** The step by which one batch moves a checkpoint. */
export interface Step {
  /** Position that the checkpoint must have now: the floor. */
  readonly from: LogPosition
  readonly to: LogPosition
  /** Events of our namespace in between, handled or not. */
  readonly events: number
  /** Time at which the last of them was recorded. */
  readonly recordedAt: Date | undefined
  readonly lastEvent: EventReference | undefined
}

interface CheckpointRow {
  readonly name: string
  readonly version: number
  readonly commit: string
  readonly prepare: string
  readonly events: string
  readonly recorded_at: Date | null
  readonly last_event: EventReference | null
  readonly indexed: boolean
  readonly stopped: StopReason | null
}

const columns = 'name, version, commit, prepare, events, recorded_at, last_event, indexed, stopped'

function fromRow(row: CheckpointRow): Checkpoint {
  const at = { commit: BigInt(row.commit), prepare: BigInt(row.prepare) }
  return {
    name: row.name,
    version: row.version,
    at,
    position: eventsThrough(at),
    events: BigInt(row.events),
    recordedAt: row.recorded_at ?? undefined,
    lastEvent: row.last_event ?? undefined,
    indexed: row.indexed,
    stopped: row.stopped ?? undefined,
  }
}

/** The checkpoint of a projection, undefined before it first ran. */
export async function readCheckpoint(db: Queryable, name: string): Promise<Checkpoint | undefined> {
  const { rows } = await db.query<CheckpointRow>({
    name: 'engine.checkpoint',
    text: `select ${columns} from engine.checkpoints where name = $1`,
    values: [name],
  })
  return rows[0] && fromRow(rows[0])
}

/** All checkpoints by name. */
export async function readCheckpoints(db: Queryable): Promise<ReadonlyMap<string, Checkpoint>> {
  const { rows } = await db.query<CheckpointRow>({
    name: 'engine.checkpoints',
    text: `select ${columns} from engine.checkpoints`,
  })
  return new Map(rows.map((row) => [row.name, fromRow(row)]))
}

/** The place that all of the projections have passed; undefined before one of them has begun. */
export async function readFirstPlace(
  db: Queryable,
  projections: readonly { readonly name: string }[],
): Promise<LogPosition | undefined> {
  const checkpoints = await readCheckpoints(db)
  const places = projections.map(({ name }) => checkpoints.get(name)?.at ?? BEFORE_FIRST)
  const first = places.reduce<LogPosition | undefined>(
    (least, at) => (least === undefined || isBehind(least, at) ? at : least),
    undefined,
  )
  return first !== undefined && isBehind(first, BEFORE_FIRST) ? first : undefined
}

/**
 * Reads a checkpoint and keeps it from moving until the transaction ends: every apply begins with
 * this row.
 */
export async function lockCheckpoint(
  client: Queryable,
  name: string,
): Promise<Checkpoint | undefined> {
  const { rows } = await client.query<CheckpointRow>(
    `select ${columns} from engine.checkpoints where name = $1 for update`,
    [name],
  )
  return rows[0] && fromRow(rows[0])
}

/** Puts a checkpoint before the first event. */
export async function resetCheckpoint(
  client: Queryable,
  name: string,
  version: number,
): Promise<void> {
  await client.query(
    `insert into engine.checkpoints (name, version, commit, prepare) values ($1, $2, $3, $4)
     on conflict (name) do update
     set version = excluded.version, commit = excluded.commit, prepare = excluded.prepare,
         events = 0, recorded_at = null, last_event = null, indexed = false, stopped = null,
         updated_at = now()`,
    [name, version, BEFORE_FIRST.commit, BEFORE_FIRST.prepare],
  )
}

/** A step of one checkpoint, by a program that knows this version of the projection. */
interface Move {
  readonly name: string
  readonly version: number
  readonly step: Step
}

/**
 * Moves one checkpoint.
 * @throws CheckpointMovedError when it is not at `step.from`, or is of another version
 */
export async function moveCheckpoint(client: Queryable, move: Move): Promise<void> {
  await moveCheckpoints(client, [move])
}

/**
 * Moves several checkpoints in one statement.
 * @throws CheckpointMovedError when one of them is not where its step begins, or its tables are of
 * another version: a newer program swapped them in. In a transaction nothing is kept then.
 */
export async function moveCheckpoints(client: Queryable, moves: readonly Move[]): Promise<void> {
  const { rowCount } = await client.query({
    name: 'engine.move',
    text: `update engine.checkpoints c
           set commit = m.to_commit, prepare = m.to_prepare, events = c.events + m.events,
               recorded_at = coalesce(m.recorded_at, c.recorded_at),
               last_event = coalesce(m.last_event::jsonb, c.last_event), stopped = null,
               updated_at = clock_timestamp()
           from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
                       $6::bigint[], $7::timestamptz[], $8::text[], $9::int[])
             as m (name, from_commit, from_prepare, to_commit, to_prepare, events, recorded_at,
                   last_event, version)
           where c.name = m.name and c.version = m.version and c.commit = m.from_commit and c.prepare = m.from_prepare`,
    values: [
      moves.map(({ name }) => name),
      moves.map(({ step }) => step.from.commit),
      moves.map(({ step }) => step.from.prepare),
      moves.map(({ step }) => step.to.commit),
      moves.map(({ step }) => step.to.prepare),
      moves.map(({ step }) => step.events),
      moves.map(({ step }) => step.recordedAt ?? null),
      moves.map(({ step }) => (step.lastEvent ? JSON.stringify(step.lastEvent) : null)),
      moves.map(({ version }) => version),
    ],
  })
  if (rowCount !== moves.length)
    throw new CheckpointMovedError(moves.map(({ name }) => name).join(', '))
}

/** Records why a projection is stopped, for every process that asks. */
export async function recordStopped(
  db: Queryable,
  name: string,
  stopped: StopReason,
): Promise<void> {
  await db.query(
    `update engine.checkpoints set stopped = $2, updated_at = clock_timestamp() where name = $1`,
    [name, JSON.stringify(stopped)],
  )
}
