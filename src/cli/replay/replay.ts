import { findTaskAnyTenant } from '../../../projections/tasks/query.ts'
import { taskStream } from '../../domain/task/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { isPlatformId } from '../../kernel/ids.ts'
import { CommandError, print, printPaced, progress, toJson } from '../output.ts'
import type { Session } from '../session.ts'
import { foldTask, showTask, StatePrinter } from './as-of.ts'
import { BalanceFold } from './balances.ts'
import { isAfter, parseMoment, parseTime, type Moment } from './moment.ts'
import { createOwnership } from './ownership.ts'

export interface ReplayOptions {
  readonly tenant?: string
  readonly task?: string
  /** RFC 3339, inclusive and exclusive. */
  readonly from?: string
  readonly to?: string
  /** A time or a position: the state then is shown instead of the events. */
  readonly asOf?: string
  readonly json?: boolean
}

type Opened = Pick<Session, 'log' | 'pool' | 'caughtUp'>

/**
 * Prints what happened, straight from the log: the events of a task or a tenant in order, or with
 * `--as-of` the state folded up to then. Read-only; memory stays flat however long the log is.
 */
export async function replay(session: Opened, options: ReplayOptions): Promise<void> {
  const { task, tenant, asOf } = options
  if (!tenant && !task) throw new CommandError('say --tenant or --task')
  if (asOf && (options.from || options.to))
    throw new CommandError('--as-of shows a state; --from and --to go with events')
  const until = parseMoment(asOf)
  if (task) {
    const events = await taskEvents(session, task, tenant)
    if (until) showTask(foldTask(events, until), options.json)
    else await showEvents(events, options)
    return
  }
  if (until) await showTenant(session, tenant ?? '', until, options.json)
  else await showEvents(tenantEvents(session, tenant ?? ''), options)
}

/** By platform or native id; a tenant that does not own it hears what it hears of an unknown one. */
async function taskEvents(
  { log, pool, caughtUp }: Opened,
  id: string,
  tenant: string | undefined,
): Promise<readonly RecordedEvent[]> {
  const find = async () => (await findTaskAnyTenant(pool, id))?.platformId
  let platformId = isPlatformId(id) ? id : await find()
  if (!platformId && (await caughtUp('tasks'))) platformId = await find()
  const events = platformId ? await log.readStream(taskStream(platformId)) : []
  const owner = events[0]?.metadata.tenantId
  if (events.length === 0 || (tenant && owner !== tenant)) throw new CommandError(`no task ${id}`)
  return events
}

async function* tenantEvents({ log }: Opened, tenant: string): AsyncGenerator<RecordedEvent> {
  const shown = progress('events read')
  const owns = createOwnership(tenant)
  let read = 0
  for await (const event of log.readAll()) {
    shown.update((read += 1), `at position ${event.position}`)
    if (owns(event)) yield event
  }
  shown.end()
}

async function showEvents(
  events: AsyncIterable<RecordedEvent> | Iterable<RecordedEvent>,
  options: ReplayOptions,
): Promise<void> {
  const fromMs = options.from === undefined ? undefined : parseTime('--from', options.from)
  const toMs = options.to === undefined ? undefined : parseTime('--to', options.to)
  let count = 0
  for await (const event of events) {
    const atMs = event.recordedAt.getTime()
    if ((fromMs !== undefined && atMs < fromMs) || (toMs !== undefined && atMs >= toMs)) continue
    count += 1
    await printPaced(options.json ? toJson(event) : describe(event))
  }
  if (count === 0) throw new CommandError('no events match')
}

function describe(event: RecordedEvent): string {
  return [
    event.position.toString().padStart(12),
    toTimestamp(event.recordedAt.getTime()),
    event.stream,
    event.type,
    ...(event.metadata.actor === undefined ? [] : [`by ${event.metadata.actor}`]),
    toJson(event.data),
  ].join('  ')
}

/** Every task of a tenant as it stood then, in the order of creation, and what it could spend. */
async function showTenant(
  { log }: Opened,
  tenant: string,
  until: Moment,
  json: boolean | undefined,
): Promise<void> {
  const shown = progress('events read')
  const owns = createOwnership(tenant)
  const balances = new BalanceFold()
  const states = new StatePrinter(log, until, json)
  let [read, owned] = [0, 0]
  for await (const event of log.readAll()) {
    shown.update((read += 1), `at position ${event.position}`)
    if (isAfter(event, until)) break
    if (!owns(event)) continue
    owned += 1
    balances.addEvent(event)
    if (event.type === 'TaskRequested') await states.add(event.data.platformId)
  }
  await states.finish()
  shown.end()
  if (owned === 0) throw new CommandError('no events match')
  for (const line of balances.lines(json)) print(line)
}
