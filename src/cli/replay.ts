import { taskDecider } from '../domain/task/decider.ts'
import { taskStream, type TaskEvent } from '../domain/task/events.ts'
import type { TaskState } from '../domain/task/state.ts'
import type { EventLog, RecordedEvent } from '../eventlog/types.ts'
import { fromTimestamp, toTimestamp } from '../kernel/clock.ts'
import { isPlatformId } from '../kernel/ids.ts'
import { CommandError, print, progress, table, toJson } from './output.ts'

export interface ReplayOptions {
  readonly tenant?: string
  readonly task?: string
  /** RFC 3339, inclusive and exclusive. */
  readonly from?: string
  readonly to?: string
  /** A time or a position: events after it are left out and the state then is shown. */
  readonly asOf?: string
  readonly json?: boolean
}

type Until = { readonly position: bigint } | { readonly atMs: number } | undefined

/**
 * Prints what happened, straight from the log: the events of a task or a tenant in order, and with
 * `--as-of` the state folded up to then. Read-only.
 */
export async function replay(
  log: EventLog,
  findPlatformId: (id: string) => Promise<string | undefined>,
  options: ReplayOptions,
): Promise<void> {
  if (!options.tenant && !options.task) throw new CommandError('say --tenant or --task')
  const until = parseUntil(options.asOf)
  const states = new Map<string, TaskState>()
  const rows: string[][] = []
  let count = 0
  const source = options.task ? await taskEvents(log, findPlatformId, options.task) : log.readAll()
  const shown = progress('events read')
  let read = 0
  for await (const event of source) {
    shown.update((read += 1), `at position ${event.position}`)
    if (isAfter(event, until)) break
    if (options.tenant && event.metadata.tenantId !== options.tenant) continue
    if (isTaskEvent(event)) {
      const id = event.data.platformId
      states.set(id, taskDecider.evolve(states.get(id) ?? taskDecider.initial, event))
    }
    if (!inRange(event, options)) continue
    count += 1
    if (options.asOf) continue
    if (options.json) print(toJson(event))
    else print(describe(event))
  }
  shown.end()
  if (count === 0 && states.size === 0) throw new CommandError('no events match')
  if (!options.asOf) return
  for (const [id, state] of states) {
    if (options.json) print(toJson({ platformId: id, state }))
    else rows.push(describeState(id, state))
  }
  if (!options.json)
    for (const line of table(['task', 'phase', 'model', 'native id', 'settled', 'hidden'], rows))
      print(line)
}

async function taskEvents(
  log: EventLog,
  findPlatformId: (id: string) => Promise<string | undefined>,
  id: string,
): Promise<readonly RecordedEvent[]> {
  const platformId = isPlatformId(id) ? id : await findPlatformId(id)
  const events = platformId ? await log.readStream(taskStream(platformId)) : []
  if (events.length === 0) throw new CommandError(`no task ${id}`)
  return events
}

function isTaskEvent(event: RecordedEvent): event is RecordedEvent<TaskEvent> {
  return event.stream.startsWith('task-')
}

function parseUntil(text: string | undefined): Until {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return { position: BigInt(text) }
  return { atMs: parseTime('--as-of', text) }
}

function parseTime(option: string, text: string): number {
  try {
    return fromTimestamp(text)
  } catch {
    throw new CommandError(`${option} must be an RFC 3339 time such as ${toTimestamp(0)}`)
  }
}

function isAfter(event: RecordedEvent, until: Until): boolean {
  if (until === undefined) return false
  if ('position' in until) return event.position > until.position
  return event.recordedAt.getTime() > until.atMs
}

function inRange(event: RecordedEvent, options: ReplayOptions): boolean {
  const atMs = event.recordedAt.getTime()
  if (options.from && atMs < parseTime('--from', options.from)) return false
  return !(options.to && atMs >= parseTime('--to', options.to))
}

function describe(event: RecordedEvent): string {
  return [
    event.position.toString().padStart(12),
    toTimestamp(event.recordedAt.getTime()),
    event.stream,
    event.type,
    toJson(event.data),
  ].join('  ')
}

function describeState(id: string, state: TaskState): string[] {
  if (state.phase === 'none') return [id, 'none', '', '', '', '']
  const phase = state.phase === 'ended' || state.phase === 'active' ? state.status : state.phase
  const nativeId = 'nativeId' in state ? (state.nativeId ?? '') : ''
  const settlement = state.phase === 'ended' ? state.settlement : undefined
  const settled = settlement ? `${settlement.amount} ${settlement.currency}` : ''
  const hidden = state.phase === 'ended' && state.deleted ? 'yes' : ''
  return [id, phase, state.request.model, nativeId, settled, hidden]
}
