import { evolveTask, initialTaskState, type TaskState } from '../../domain/task/state.ts'
import { taskStream, type TaskEvent } from '../../domain/task/events.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { CommandError, print, printPaced, row, toJson } from '../output.ts'
import { isAfter, type Moment } from './moment.ts'

/** Tasks read at once: each is a stream of a few events. */
const READ_TOGETHER = 32

/** A task that had been requested by then. */
type KnownTask = Exclude<TaskState, { readonly phase: 'none' }>

const columns = ['TASK', 'PHASE', 'MODEL', 'NATIVE ID', 'SETTLED', 'HIDDEN'] as const
/** Fixed widths, so that rows can be printed before the last one is known. */
const widths = [32, 10, 34, 24, 18, 6] as const

/** The state of a task at a moment. */
export function foldTask(events: readonly RecordedEvent[], until: Moment): TaskState {
  let state = initialTaskState
  for (const event of events) {
    if (isAfter(event, until)) break
    if (isTaskEvent(event)) state = evolveTask(state, event)
  }
  return state
}

function isTaskEvent(event: RecordedEvent): event is RecordedEvent<TaskEvent> {
  return event.stream.startsWith('task-')
}

/** @throws CommandError when the task did not exist then */
export function showTask(state: TaskState, json: boolean | undefined): void {
  if (state.phase === 'none') throw new CommandError('the task did not exist then')
  if (!json) print(row(columns, widths))
  print(lineOf(state, json))
}

function lineOf(state: KnownTask, json: boolean | undefined): string {
  if (json) return toJson({ platformId: state.request.platformId, state })
  const phase = state.phase === 'ended' || state.phase === 'active' ? state.status : state.phase
  const nativeId = 'nativeId' in state ? (state.nativeId ?? '') : ''
  const settlement = state.phase === 'ended' ? state.settlement : undefined
  const settled = settlement ? `${settlement.amount} ${settlement.currency}` : ''
  const hidden = state.phase === 'ended' && state.deleted ? 'yes' : ''
  return row(
    [state.request.platformId, phase, state.request.model, nativeId, settled, hidden],
    widths,
  )
}

/** Prints task after task as its stream folds at a moment; keeps none of them. */
export class StatePrinter {
  readonly #log: EventLog
  readonly #until: Moment
  readonly #json: boolean | undefined
  #waiting: string[] = []
  #printed = 0

  constructor(log: EventLog, until: Moment, json: boolean | undefined) {
    this.#log = log
    this.#until = until
    this.#json = json
  }

  async add(platformId: string): Promise<void> {
    this.#waiting.push(platformId)
    if (this.#waiting.length >= READ_TOGETHER) await this.#flush()
  }

  async finish(): Promise<void> {
    await this.#flush()
  }

  async #flush(): Promise<void> {
    const ids = this.#waiting
    this.#waiting = []
    const streams = await Promise.all(ids.map((id) => this.#log.readStream(taskStream(id))))
    for (const events of streams) {
      const state = foldTask(events, this.#until)
      if (state.phase === 'none') continue
      if (this.#printed === 0 && !this.#json) print(row(columns, widths))
      this.#printed += 1
      await printPaced(lineOf(state, this.#json))
    }
  }
}
