import { monotonicClock } from '../../kernel/clock.ts'
import { pause } from '../../kernel/pause.ts'
import type { Pool } from 'pg'
import { readCheckpoints, type Checkpoint } from '../../../projections/engine/checkpoint.ts'
import { readPassedOver } from '../../../projections/engine/passed-over.ts'
import type { Projection } from '../../../projections/engine/types.ts'
import { MAX_FINDINGS, type Finding, type Findings } from './findings.ts'
import { BEFORE_ALL_EVENTS, appliedTo } from './snapshot.ts'

/** Time for which a read model may make no progress. */
const STANDSTILL_MS = 30_000
/** Interval at which the audit asks for the read models' positions. */
const LOOK_MS = 200

/** After every position. */
export const BEYOND_ALL = 2n ** 63n - 1n

/** A read model as this program knows it. */
export type ReadModel = Pick<Projection, 'name' | 'version' | 'streamTables' | 'eventTables'>

/** A read model that makes no progress, and its position. */
interface Halted {
  readonly name: string
  readonly position: bigint
}

/** Whether the audited read models have reached the position up to which the log was read. */
export class AuditedReadModels {
  readonly #pool: Pool
  readonly #findings: Findings
  readonly #versions: ReadonlyMap<string, number>
  readonly #following: Set<string>
  /** The position they are known to have reached; only beyond it must the audit ask. */
  #reached = BEFORE_ALL_EVENTS

  constructor(pool: Pool, models: readonly ReadModel[], findings: Findings) {
    this.#pool = pool
    this.#findings = findings
    this.#versions = new Map(models.map(({ name, version }) => [name, version]))
    this.#following = new Set(models.map(({ name }) => name))
  }

  /** Whether a read model is still compared stretch by stretch. */
  follows(name: string): boolean {
    return this.#following.has(name)
  }

  /** Stops comparing later stretches with it. */
  leave(name: string): void {
    this.#following.delete(name)
  }

  /** Whether every one of them is still compared. */
  get complete(): boolean {
    return this.#following.size === this.#versions.size
  }

  /**
   * Waits until every read model has reached a position. It returns those that make no progress,
   * the one furthest behind first, each with a finding that says why.
   */
  async reach(position: bigint): Promise<readonly Halted[]> {
    if (position <= this.#reached) return []
    let furthest = ''
    let untilMs = monotonicClock.nowMs() + STANDSTILL_MS
    for (;;) {
      const checkpoints = await readCheckpoints(this.#pool)
      const following = [...this.#following]
      const behind = following.filter((name) => this.#positionOf(checkpoints, name) < position)
      const stopped = behind.filter((name) => checkpoints.get(name)?.stopped !== undefined)
      const positions = behind.map((name) => `${this.#positionOf(checkpoints, name)}`).join(' ')
      if (positions !== furthest) untilMs = monotonicClock.nowMs() + STANDSTILL_MS
      furthest = positions
      const halted = monotonicClock.nowMs() > untilMs ? behind : stopped
      if (behind.length === halted.length) {
        if (halted.length === 0)
          this.#reached = following
            .map((name) => this.#positionOf(checkpoints, name))
            .reduce((least, each) => (each < least ? each : least), BEYOND_ALL)
        return this.#halt(halted, checkpoints, position)
      }
      await pause(LOOK_MS)
    }
  }

  #positionOf(checkpoints: ReadonlyMap<string, Checkpoint>, name: string): bigint {
    const found = checkpoints.get(name)
    // Tables of another version are being rebuilt: this program would write other rows.
    return found?.version === this.#versions.get(name) ? appliedTo(found) : BEFORE_ALL_EVENTS
  }

  #halt(
    names: readonly string[],
    checkpoints: ReadonlyMap<string, Checkpoint>,
    wanted: bigint,
  ): readonly Halted[] {
    const halted = names.map((name) => ({ name, position: this.#positionOf(checkpoints, name) }))
    this.#findings.push(...halted.map((each) => whyHalted(each, checkpoints, wanted)))
    return halted.sort((a, b) => Number(a.position - b.position))
  }
}

/** A read model without progress is a finding: its pending events are not shown or billed. */
function whyHalted(
  { name, position }: Halted,
  checkpoints: ReadonlyMap<string, Checkpoint>,
  wanted: bigint,
): Finding {
  const stopped = checkpoints.get(name)?.stopped
  if (stopped === undefined)
    return {
      code: 'read_model_behind',
      table: name,
      key: name,
      position: position.toString(),
      message: `the read model did not come to position ${wanted} of the log in time: does a projector run?`,
    }
  return {
    code: 'read_model_stopped',
    table: name,
    key: stopped.eventId ?? name,
    position: stopped.position ?? position.toString(),
    message: `the read model refuses ${stopped.type ?? 'an event'}: ${stopped.reason}`,
  }
}

/** Names the events that read models passed over, unless a finding is about the event already. */
export async function reportPassedOver(pool: Pool, findings: Findings): Promise<void> {
  const notes = await readPassedOver(pool, MAX_FINDINGS)
  const unsaid = notes.filter(({ position }) => !findings.at(position.toString()))
  for (const { projection, eventId, position, reason } of unsaid)
    findings.push({
      code: 'event_passed_over',
      table: projection,
      key: eventId,
      position: position.toString(),
      message: `the read model passed it over: ${reason}`,
    })
}
