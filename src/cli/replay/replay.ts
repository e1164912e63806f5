import { type Command, Option } from 'commander'
import { sourceOf } from '../../domain/any-event.ts'
import { assetStreams } from '../../domain/asset/events.ts'
import { assetGroupStreams } from '../../domain/asset-group/events.ts'
import { taskStreams } from '../../domain/task/events.ts'
import { verificationStreams } from '../../domain/verification/events.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { systemClock } from '../../kernel/clock.ts'
import { callIdOfAnswer } from '../../kernel/ids.ts'
import type { TimeZone } from '../../kernel/time-zone.ts'
import { CommandError, note, print, printPaced, toJson, UsageError } from '../output.ts'
import { withLog, withSession } from '../session.ts'
import { foldTask, showTask, StatePrinter } from './as-of.ts'
import { BalanceFold } from './balances.ts'
import { fromLog } from './from-log.ts'
import { fromTimeline } from './from-timeline.ts'
import { isAfter, parseMoment, parseTime, parseZone, type Moment } from './moment.ts'
import { isWithin, type ReplaySource, type TimeRange } from './source.ts'
import { createRequester, isShown, type Narrowing } from './narrow.ts'
import { EventTable } from './table.ts'
import { JSON_OPTION } from '../command.ts'

const REPLAY_HELP = `
The id is that of a task or an asset (ours or native), a group of assets, a verification, a call, its answer
("chatcmpl-…"), a request ("x-request-id" of any answer), or a line of the ledger. For a request the events of everything
it started are shown, for a token everything that was asked with it, and with --tenant for a user everything the user
asked. Each row shows when the
log recorded the event, the time since the previous row, and what it moves. --json prints whole events, one per line.

Events are found through the timeline, by tenant and time. --from-log reads the log itself instead, without Postgres:
all of it up to --to, except for ids of ours that name their stream.

The exit code is 1 if nothing is found.`

/** Registers `tollgate replay`. */
export function addReplay(program: Command): void {
  program
    .command('replay')
    .description(
      'show what happened: every event of a task, an asset, a call, a request or a tenant',
    )
    .argument('[id]', 'id of a task or an asset, ours or native, of a call or of a request')
    .option('--asset <id>', 'only an asset, a group or a verification with this id')
    .option(
      '--tenant <id>',
      'every event of this tenant; with an id, only if it belongs to the tenant',
    )
    .option('--from <time>', 'from this RFC 3339 time or day, inclusive')
    .option('--to <time>', 'until this RFC 3339 time or day, exclusive')
    .addOption(new Option('--today', 'of today').conflicts(['from', 'to']))
    .option('--tz <zone>', 'IANA time zone of days and of the times shown; default: UTC')
    .option('--money', 'only what moves money')
    .option('--errors', 'only what failed, or whose outcome is not known')
    .option(
      '--as-of <time or position>',
      'the state of a task or tenant at that moment, instead of events',
    )
    .option('--from-log', 'read the log instead of Postgres')
    .option(...JSON_OPTION)
    .addHelpText('after', REPLAY_HELP)
    .action(replayCommand)
}

interface ReplayOptions {
  /** The id of an asset, a group or a verification: then events of the asset library alone are shown. */
  readonly asset?: string
  readonly tenant?: string
  /** RFC 3339, inclusive and exclusive. */
  readonly from?: string
  readonly to?: string
  /** A time or a position: the state then is shown instead of the events. */
  readonly today?: boolean
  readonly tz?: string
  readonly money?: boolean
  readonly errors?: boolean
  readonly asOf?: string
  readonly fromLog?: boolean
  readonly json?: boolean
}

/** The options of the command, read. */
interface ReplayRequest {
  readonly id: string | undefined
  /** Only what is of the asset library. */
  readonly isOfLibrary: boolean
  readonly tenant: string | undefined
  readonly range: TimeRange
  readonly until: Moment | undefined
  readonly json: boolean | undefined
  readonly narrowing: Narrowing
  /** Undefined: times are of UTC. */
  readonly zone: TimeZone | undefined
}

/**
 * Prints what happened: the events of an id or a tenant in order, or with `--as-of` the state folded
 * up to then. Read-only; memory stays flat however much happened to a tenant.
 */
async function replayCommand(id: string | undefined, options: ReplayOptions): Promise<void> {
  const request = readOptions(id, options)
  if (options.fromLog)
    await withLog(({ log }) => replay(request, log, fromLog(log, scanned(request))))
  else await withSession((session) => replay(request, session.log, fromTimeline(session)))
}

/** @throws UsageError for what cannot be read, or does not go together */
function readOptions(id: string | undefined, options: ReplayOptions): ReplayRequest {
  const { asset, tenant, asOf, json, money = false, errors = false } = options
  const { from, to, today = false } = options
  if (!tenant && !id && !asset)
    throw new UsageError('give an id of a task, call or request, or --asset, or --tenant')
  if (asset && (id || asOf))
    throw new UsageError('--asset cannot be combined with another id or with --as-of')
  if (asOf && (from || to || today || money || errors))
    throw new UsageError(
      '--as-of cannot be combined with --from, --to, --today, --money or --errors',
    )
  const zone = options.tz === undefined ? undefined : parseZone(options.tz)
  const range = today
    ? todayIn(zone)
    : {
        fromMs: from === undefined ? undefined : parseTime('--from', from, zone),
        toMs: to === undefined ? undefined : parseTime('--to', to, zone),
      }
  return {
    id: asset ?? lifeOf(id),
    isOfLibrary: asset !== undefined,
    tenant,
    range,
    until: parseMoment(asOf),
    json,
    narrowing: { money, errors },
    zone,
  }
}

/** The task or call of a ledger line, `<id>:<n>`, or of an answer; any other id as it is. */
function lifeOf(id: string | undefined): string | undefined {
  return id && callIdOfAnswer(id.replace(/:[1-9]\d{0,3}$/, ''))
}

/** The day that it is in a zone. */
function todayIn(zone: TimeZone | undefined): TimeRange {
  const days = zone ?? parseZone('UTC')
  return { fromMs: days.startOf(days.dayAt(systemClock.nowMs())), toMs: undefined }
}

/** The time in which anything of interest was recorded. */
function scanned({ range, until }: ReplayRequest): TimeRange {
  const untilMs = until !== undefined && 'atMs' in until ? until.atMs + 1 : undefined
  return untilMs === undefined ? range : { fromMs: undefined, toMs: untilMs }
}

async function replay(request: ReplayRequest, log: EventLog, source: ReplaySource): Promise<void> {
  const { id, tenant = '', range, until } = request
  if (id !== undefined) await replayId({ ...request, id }, source)
  else if (until) await showTenant(request, { tenant, until }, log, source)
  else {
    const count = await showEvents(source.ofTenant(tenant, range), request, true)
    if (count === 0) throw nothing('no events match', source)
  }
  const caveat = source.caveat()
  if (caveat !== undefined) note(caveat)
}

function nothing(what: string, source: ReplaySource): CommandError {
  const caveat = source.caveat()
  return new CommandError(caveat === undefined ? what : `${what}; ${caveat}`)
}

/** Prints the events of any id; for a tenant that does not own it the answer is that of an unknown id. */
async function replayId(request: ReplayRequest & { readonly id: string }, source: ReplaySource) {
  const { id, isOfLibrary, tenant, range, until, json } = request
  const found = await source.ofId(id, tenant)
  const events = isOfLibrary ? found.filter(isOfAssets) : found
  const requester = requesterOf(request, events)
  if (requester !== undefined && until === undefined)
    return showRequester(request, requester, source)
  if (events.length === 0) throw nothing(`nothing was found for ${id}`, source)
  const several = new Set(events.map(sourceOf)).size > 1
  if (until) {
    if (several || !events.every(({ stream }) => stream.startsWith(taskStreams)))
      throw new CommandError(`--as-of needs a task or a tenant, and ${id} is neither`)
    return showTask(foldTask(events, until), json)
  }
  const within = events.filter((event) => isWithin(event, range))
  if (within.length === 0) throw new CommandError('no events match')
  if (!several && !json) print(subjectOf(events))
  await showEvents(within, request, several)
}

/** Whose requests an id stands for: those of a token, or of a user of the tenant. */
interface Requester {
  readonly tenant: string
  readonly tokenId?: string
  readonly userId?: string
}

function requesterOf(
  { id = '', tenant, isOfLibrary }: ReplayRequest,
  events: readonly RecordedEvent[],
): Requester | undefined {
  const issued = events.find((event) => event.type === 'TokenIssued')
  if (issued?.type === 'TokenIssued') return { tenant: issued.data.tenantId, tokenId: id }
  if (events.length > 0 || tenant === undefined || isOfLibrary) return undefined
  return { tenant, userId: id }
}

/** Prints everything that a token or a user asked. */
async function showRequester(
  request: ReplayRequest,
  { tenant, ...requester }: Requester,
  source: ReplaySource,
): Promise<void> {
  const isOwn = createRequester(requester)
  const count = await showEvents(only(source.ofTenant(tenant, request.range), isOwn), request, true)
  if (count === 0) throw nothing(`nothing was found for ${request.id}`, source)
}

async function* only(
  events: AsyncIterable<RecordedEvent>,
  isWanted: (event: RecordedEvent) => boolean,
): AsyncGenerator<RecordedEvent> {
  for await (const event of events) if (isWanted(event)) yield event
}

const libraryStreams = [assetStreams, assetGroupStreams, verificationStreams]

function isOfAssets({ stream }: RecordedEvent): boolean {
  return libraryStreams.some((prefix) => stream.startsWith(prefix))
}

/** The thing that the events belong to, and its owner: it may have been found by another id. */
function subjectOf([first]: readonly RecordedEvent[]): string {
  const tenant = first?.metadata.tenantId
  const names = [first && sourceOf(first), tenant && `of ${tenant}`]
  return names.filter((name) => name !== undefined).join(' ')
}

/** Prints events as a table, or each as a line of JSON, and says how many. */
async function showEvents(
  events: AsyncIterable<RecordedEvent> | Iterable<RecordedEvent>,
  { json, narrowing, zone }: ReplayRequest,
  several: boolean,
): Promise<number> {
  const table = new EventTable(several, zone)
  let count = 0
  for await (const event of events) {
    if (!isShown(event, narrowing)) continue
    if (count === 0 && !json) print(table.heading())
    count += 1
    await printPaced(json ? toJson(event) : table.row(event))
  }
  if (count > 0 && !json) print(table.footing())
  return count
}

/**
 * Every task of a tenant in its state at that time, in the order of creation, and what the tenant
 * could spend.
 */
async function showTenant(
  request: ReplayRequest,
  { tenant, until }: { readonly tenant: string; readonly until: Moment },
  log: EventLog,
  source: ReplaySource,
): Promise<void> {
  const balances = new BalanceFold()
  const states = new StatePrinter(log, until, request.json)
  let owned = 0
  for await (const event of source.ofTenant(tenant, scanned(request))) {
    if (isAfter(event, until)) break
    owned += 1
    balances.addEvent(event)
    if (event.type === 'TaskRequested') await states.add(event.data.platformId)
  }
  await states.finish()
  if (owned === 0) throw nothing('no events match', source)
  for (const line of balances.lines(request.json)) print(line)
}
