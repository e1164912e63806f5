import type { Command } from 'commander'
import {
  listRefused,
  moneyOf,
  retryRefused,
  writeOffRefused,
  type RefusedRecord,
  type RefusedDeps,
  type RefusedOutcome,
} from '../app/calls/refused-records.ts'
import { type DamagedPart, readDamaged } from '../eventlog/journal/damaged-records.ts'
import { dataFiles, loadConfig } from '../config.ts'
import { isLongerThan } from '../kernel/characters.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { actorOf } from './actor.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandError, note, print, table, toJson } from './output.ts'
import { withSession } from './session.ts'
import { changing, JSON_OPTION } from './command.ts'

const SPOOL_HELP = `
The event log can refuse a settlement for good: it is larger than the event store takes, or not valid to it.
The gateway then sets it aside in DATA_DIR/spool of that replica, and /readyz and
tollgate_spool_refused_records say so. The call was delivered and is not billed until an operator decides:

  tollgate spool list                                    what was refused, with its amounts
  tollgate spool retry call_…                            after the cause is gone: settle it
  tollgate spool resolve call_… --reason 'ticket 4711'   give it up: it will never be billed

A record that the disk damaged is in the list too, with what can still be read of it. Its call may have been
delivered, and is not billed: keep or note what you need, then delete the file that the list names.

Run it with the DATA_DIR of that replica, which may go on serving.`

const RETRY_HELP = `
The event goes into the log as it was made, at its old prices; it is settled once, however often the
command is run. An id is that of a call or of a refused event, as "tollgate spool list" shows them.

Where the log refuses one still, or it was given up, the exit code is 1.`

const RESOLVE_HELP = `
It writes CallWrittenOff into the log: who gave up what, why, and what the tenant would have paid. It moves no
money: the call was never billed. What is in the log already is not given up (exit code 1). Run again
it changes nothing; the first reason stays.`

/** Registers `tollgate spool …`. */
export function addSpool(program: Command): void {
  const group = program
    .command('spool')
    .description('settlements that the event log refused for good, or the disk damaged')
    .addHelpText('after', SPOOL_HELP)
  group
    .command('list')
    .description('what the log refused, oldest first, and what is damaged')
    .option(...JSON_OPTION)
    .action(listSpoolCommand)
  changing(group.command('retry'))
    .description('try to bring refused settlements into the log once more')
    .argument('[ids...]', 'ids of calls or of refused events')
    .option('--all', 'every one that is listed')
    .addHelpText('after', RETRY_HELP)
    .action(retryRefusedCommand)
  changing(group.command('resolve'))
    .description('give a refused settlement up, so that it is never billed')
    .argument('<id>', 'id of a call or of a refused event')
    .requiredOption('--reason <text>', 'why, for readers of the log')
    .addHelpText('after', RESOLVE_HELP)
    .action(resolveRefusedCommand)
}

interface Options {
  readonly actor?: string
  readonly json?: boolean
}

/** Longest reason, in characters. */
const MAX_REASON = 1_000

/** What of a refused event is shown. */
function shown({ event, rejectedAtMs, isBegun }: RefusedRecord) {
  const { callId, tenantId, model, requestId } = event.data
  return {
    callId,
    eventId: event.id,
    type: event.type,
    tenantId,
    model,
    requestId,
    ...(event.type === 'CallSettled' ? moneyOf(event) : {}),
    rejectedAt: rejectedAtMs === undefined ? undefined : toTimestamp(rejectedAtMs),
    /** A retry or a resolve did not finish: the operator repeats it. */
    begun: isBegun,
  }
}

/** `tollgate spool list` */
async function listSpoolCommand({ json }: Options): Promise<void> {
  const items = (await listRefused(directoryOf())).map(shown)
  const damaged = await readDamaged(directoryOf())
  if (json) return print(toJson({ items, damaged }))
  if (items.length === 0 && damaged.length === 0)
    return note('nothing was refused for good, and nothing is damaged')
  if (items.length > 0) printRefused(items)
  if (damaged.length > 0) printDamaged(damaged)
}

function printRefused(items: readonly ReturnType<typeof shown>[]): void {
  const rows = items.map((item) => [
    item.rejectedAt ?? '',
    item.callId,
    item.tenantId,
    item.model,
    'amount' in item ? item.amount : '',
    'currency' in item ? item.currency : '',
    item.begun ? 'begun' : '',
    item.eventId,
  ])
  const columns = ['refused', 'call', 'tenant', 'model', 'amount', 'currency', 'decision', 'event']
  for (const line of table(columns, rows)) print(line)
}

/** An event a row, as far as it can be read; a part without any has one row. */
function printDamaged(damaged: readonly DamagedPart[]): void {
  const rows = damaged.flatMap(({ file, sizeBytes, events }) =>
    (events.length === 0 ? [undefined] : events).map((event) => [
      file,
      String(sizeBytes),
      event?.callId ?? '?',
      event?.tenantId ?? '?',
      event?.model ?? '?',
      event?.amount ?? '?',
      event?.currency ?? '?',
    ]),
  )
  const columns = ['damaged', 'bytes', 'call', 'tenant', 'model', 'amount', 'currency']
  for (const line of table(columns, rows)) print(line)
}

/** `tollgate spool retry` */
async function retryRefusedCommand(
  ids: readonly string[],
  options: Options & { readonly all?: boolean },
): Promise<void> {
  if (ids.length > 0 === (options.all === true))
    throw new CommandError('say which: ids as "tollgate spool list" shows them, or --all')
  const items = await listRefused(directoryOf(), { withEnded: !options.all })
  const wanted = options.all ? items : ids.flatMap((id) => named(items, id))
  const outcomes: RefusedOutcome[] = []
  await onRefused(options, async (deps) => {
    for (const refused of wanted) {
      const outcome = await retryRefused(deps, refused)
      outcomes.push(outcome)
      printOutcome(refused, outcome, options)
    }
  })
  if (outcomes.some(({ kind }) => kind !== 'settled')) process.exitCode = exitCodes.failed
}

/** `tollgate spool resolve` */
async function resolveRefusedCommand(
  id: string,
  options: Options & { readonly reason: string },
): Promise<void> {
  const reason = options.reason.trim()
  if (reason === '' || isLongerThan(reason, MAX_REASON))
    throw new CommandError(`--reason must say why, in at most ${MAX_REASON} characters`)
  const items = await listRefused(directoryOf(), { withEnded: true })
  await onRefused(options, async (deps) => {
    for (const refused of named(items, id)) {
      const outcome = await writeOffRefused(deps, refused, reason)
      printOutcome(refused, outcome, options)
      if (outcome.kind !== 'written_off') process.exitCode = exitCodes.failed
    }
  })
}

function directoryOf(): string {
  return dataFiles(loadConfig().dataDir).spool
}

/** Only on the log that belongs to the database: in another one they would be in no ledger. */
async function onRefused(
  { actor }: Options,
  run: (deps: RefusedDeps) => Promise<void>,
): Promise<void> {
  const by = actorOf(actor)
  const directory = directoryOf()
  await withSession(({ log }) => run({ log, directory, clock: systemClock, actor: by }))
}

/** What an id names: an event, or all of a call. @throws CommandError where it is nothing */
function named(items: readonly RefusedRecord[], id: string): readonly RefusedRecord[] {
  const found = items.filter(({ event }) => event.id === id || event.data.callId === id)
  if (found.length === 0)
    throw new CommandError(`nothing refused has the id ${id}: see "tollgate spool list"`)
  return found
}

function printOutcome(refused: RefusedRecord, outcome: RefusedOutcome, { json }: Options): void {
  const { callId } = refused.event.data
  if (json) return print(toJson({ callId, eventId: refused.event.id, ...outcome }))
  const { kind } = outcome
  if (kind === 'refused') print(`${callId}: the log refuses it still: ${outcome.reason}`)
  else if (kind === 'settled')
    print(`${callId}: ${outcome.before ? 'it is in the log already' : 'it is in the log now'}`)
  else
    print(
      `${callId}: ${outcome.before ? 'it was given up before' : 'it is given up'}: ${outcome.event.data.reason}`,
    )
}
