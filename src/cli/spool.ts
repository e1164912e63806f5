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
import { CommandError, note, print, table, toJson, UsageError } from './output.ts'
import { withSession } from './session.ts'
import { DRAIN_HELP, drainSpoolCommand } from './spool-drain.ts'
import { changing, JSON_OPTION } from './command.ts'

const SPOOL_HELP = `
The event log can refuse a settlement permanently: it is larger than the event store accepts, or not valid for it.
The gateway then sets it aside in DATA_DIR/spool of that replica, and reports it in /readyz and in
tollgate_spool_refused_records. The call was delivered and is not billed until an operator decides:

  tollgate spool list                                    list refused settlements, with their amounts
  tollgate spool retry call_…                            settle it, after the cause is gone
  tollgate spool resolve call_… --reason 'ticket 4711'   give it up: it will never be billed

The list also has records that the disk damaged, with what can still be read of them. The call of such a record may
have been delivered, and is not billed: note what you need, then delete the file that the list names.

Run the command with the DATA_DIR of that replica, which may continue to serve.`

const RETRY_HELP = `
The event is appended to the log unchanged, at its old prices; it is settled once, however often the command is run.
An id is that of a call or of a refused event, as "tollgate spool list" shows them.

The exit code is 1 if the log still refuses one of them, or if one was given up.`

const RESOLVE_HELP = `
Appends CallWrittenOff to the log: who gave up which call, why, and what the tenant would have paid. It moves no
money: the call was never billed. A settlement that is already in the log is not given up (exit code 1). Running the
command again changes nothing; the first reason stays.`

/** Registers `tollgate spool …`. */
export function addSpool(program: Command): void {
  const group = program
    .command('spool')
    .description(
      'settlements that wait, that the event log permanently refused, or that the disk damaged',
    )
    .addHelpText('after', SPOOL_HELP)
  group
    .command('list')
    .description('refused settlements, oldest first, and damaged records')
    .option(...JSON_OPTION)
    .action(listSpoolCommand)
  group
    .command('drain')
    .description('bring the spool of a replica that never comes back into the log')
    .option(...JSON_OPTION)
    .addHelpText('after', DRAIN_HELP)
    .action(drainSpoolCommand)
  changing(group.command('retry'))
    .description('try again to append refused settlements to the log')
    .argument('[ids...]', 'ids of calls or of refused events')
    .option('--all', 'all listed settlements')
    .addHelpText('after', RETRY_HELP)
    .action(retryRefusedCommand)
  changing(group.command('resolve'))
    .description('give up a refused settlement, so that it is never billed')
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
    return note('there are no refused settlements and no damaged records')
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
    throw new UsageError('give ids as "tollgate spool list" shows them, or --all')
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
    throw new UsageError(`--reason must have 1 to ${MAX_REASON} characters`)
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
    throw new CommandError(`no refused settlement has the id ${id}: see "tollgate spool list"`)
  return found
}

function printOutcome(refused: RefusedRecord, outcome: RefusedOutcome, { json }: Options): void {
  const { callId } = refused.event.data
  if (json) return print(toJson({ callId, eventId: refused.event.id, ...outcome }))
  const { kind } = outcome
  if (kind === 'refused') print(`${callId}: the log still refuses it: ${outcome.reason}`)
  else if (kind === 'settled')
    print(`${callId}: ${outcome.before ? 'it is already in the log' : 'it is in the log now'}`)
  else
    print(
      `${callId}: ${outcome.before ? 'it was given up before' : 'it is given up'}: ${outcome.event.data.reason}`,
    )
}
