import type { Command } from 'commander'
import {
  createLifeActions,
  type LifeActions,
  type NoteInput,
  type SupportActor,
} from '../app/support/actions/life-actions.ts'
import { crashPointFrom } from '../app/crash-points.ts'
import { RequestError } from '../api/kit/request-error.ts'
import { systemClock } from '../kernel/clock.ts'
import { DomainError } from '../kernel/errors.ts'
import { derivedId, newId } from '../kernel/ids.ts'
import { silentLog } from '../kernel/log.ts'
import { type ActorOption, changing, depsOf, onStores } from './command.ts'
import { CommandError, note, show, UsageError } from './output.ts'
import { inOptions, servicesOf } from './report.ts'
import type { Session } from './session.ts'

const NOTE_HELP = `
The id is every one that tollgate ticket takes. A note is one of the operator's: it stands in the life, in its ticket and
in tollgate replay, and no tenant sees it. It is never deleted, so write no secret into it.

  tollgate note call_01M8A107EWHJY6EV9EW3K1KVH7 'The customer was called; ticket 4711'

The same command again posts nothing. The exit code is 1 where nothing has the id.`

const POLL_HELP = `
A task is asked for by itself: each second at first, every 15 seconds later, more rarely while its submission has no
known outcome. This makes it due at once. Where a worker has it already, that one asks within a minute. The provider is
asked at most 6 times a minute about one task. What it says stands in the life.

  tollgate poll video_01M8A107EWHJY6EV9EW3K1KVH7 --reason 'the customer sees it finished at the provider'

The exit code is 1 where the task has ended, is made by the gateway itself, or nothing has the id.`

const GIVE_UP_HELP = `
Only where the outcome is not known: the submission is uncertain, or the result is made and the provider has not
reported its usage for an hour. The task ends as failed (given_up), its hold is freed, and nothing is charged. Nothing is
sent to the provider again; what it makes or bills after all is a cost of the operator. It cannot be taken back.

  tollgate give-up video_01M8A107EWHJY6EV9EW3K1KVH7 --reason 'the provider has no such task: case 4711'

The same command again changes nothing. The exit code is 1 where it is refused, and the message says why.`

interface NoteOptions extends ActorOption {
  readonly noteId?: string
  readonly json?: boolean
}
interface ActionOptions extends NoteOptions {
  readonly reason: string
}

const noteIdShape = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Registers `tollgate note`, `tollgate poll` and `tollgate give-up`. */
export function addNotes(program: Command): void {
  const command = (name: string, description: string): Command =>
    changing(program.command(name).description(description))
      .argument('<id>', 'id of a call, a task, a request, an asset, a file or a ledger line')
      .option('--note-id <id>', 'id of the note: repeating it changes nothing')
  command('note', 'write a note about a life, for people inside')
    .argument('<text>', '1 to 1,000 characters, in one or more lines')
    .addHelpText('after', NOTE_HELP)
    .action(onStores(noteCommand))
  command('poll', 'ask the provider about a task now')
    .requiredOption('--reason <text>', 'why, as a note of the task')
    .addHelpText('after', POLL_HELP)
    .action(onStores(pollCommand))
  command('give-up', 'give up a task whose outcome is not known, and free its hold')
    .requiredOption('--reason <text>', 'why, as a note of the task')
    .addHelpText('after', GIVE_UP_HELP)
    .action(onStores(giveUpCommand))
}

/** `tollgate note` */
async function noteCommand(
  session: Session,
  lifeId: string,
  text: string,
  options: NoteOptions,
): Promise<void> {
  const noteId = noteIdOf(options) ?? derivedId('note', ['note', lifeId, text])
  const done = await acting(session, options, { lifeId, text, noteId }, (lives, ...given) =>
    lives.note({ kind: 'all' }, ...given),
  )
  show({ noteId, about: done.about, posted: done.changed }, options.json)
  if (!done.changed) note('this note was already posted')
}

/** `tollgate poll` writes another note each time, unless one is named. */
async function pollCommand(
  session: Session,
  lifeId: string,
  options: ActionOptions,
): Promise<void> {
  const noteId = noteIdOf(options) ?? newId('note', systemClock.nowMs())
  note(`note id: ${noteId}`)
  const given = { lifeId, text: options.reason, noteId }
  const done = await acting(session, options, given, (lives, ...rest) =>
    lives.poll({ kind: 'all' }, ...rest),
  )
  show({ noteId, about: done.about, due: done.due, posted: done.changed }, options.json)
  note(
    done.due === 'now'
      ? `the provider is asked at once; see it with tollgate ticket ${done.about}`
      : 'a worker has the task already, and asks within a minute',
  )
}

/** `tollgate give-up`: repeated with the same arguments it changes nothing. */
async function giveUpCommand(
  session: Session,
  lifeId: string,
  options: ActionOptions,
): Promise<void> {
  const noteId = noteIdOf(options) ?? derivedId('note', ['give-up', lifeId, options.reason])
  const given = { lifeId, text: options.reason, noteId }
  const done = await acting(session, options, given, (lives, ...rest) =>
    lives.giveUp({ kind: 'all' }, ...rest),
  )
  show({ noteId, about: done.about, givenUp: done.changed }, options.json)
  if (!done.changed) note('this note had given the task up before')
}

/** @throws UsageError */
function noteIdOf({ noteId }: NoteOptions): string | undefined {
  if (noteId === undefined || noteIdShape.test(noteId)) return noteId
  throw new UsageError('--note-id must have 1 to 64 letters, digits, _ and -')
}

/** Runs an action of an operator's shell. @throws CommandError where there is nothing of that id */
async function acting<Done>(
  session: Session,
  options: NoteOptions,
  { lifeId, text, noteId: id }: Omit<NoteInput, 'name'> & { readonly noteId: string },
  run: (lives: LifeActions, by: SupportActor, input: NoteInput) => Promise<Done>,
): Promise<Done> {
  const { log, catalog, clock, correlationId, actor } = depsOf(session, options)
  const lives = createLifeActions({
    log,
    catalog,
    clock,
    pool: session.pool,
    findLife: servicesOf(session).queries.reads.life,
    crashPoint: crashPointFrom(session.config.crashAt),
    logger: silentLog,
  })
  const by = { correlationId, actor, person: undefined }
  const input = { lifeId, text, name: { id, key: undefined } }
  return run(lives, by, input).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === 'life_not_found')
      throw new CommandError(
        `nothing was found for ${lifeId}: tollgate find looks for its beginning`,
      )
    throw error instanceof RequestError ? inOptions(error) : error
  })
}
