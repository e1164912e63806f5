import type { Command } from 'commander'
import { allProjections } from '../../projections/registry.ts'
import { createReadModels, type ReadModels } from '../app/read-models/read-models.ts'
import type { AccountCommandDeps } from '../app/accounts/account-commands.ts'
import { nearestTenant, readTenant } from '../app/accounts/managed-tenants.ts'
import type { ManagementDeps } from '../app/accounts/management.ts'
import { catalog } from '../families/index.ts'
import { isPrintable } from '../kernel/characters.ts'
import { systemClock } from '../kernel/clock.ts'
import { actorOf } from './actor.ts'
import { CommandError, UsageError } from './output.ts'
import { type Session, type SessionOptions, withSession } from './session.ts'

/** Commands share these: options, actions on the stores, and the dependencies of a change. */

/** Most rows a list shows. */
export const LIST_LIMIT = 1_000

/** Options of every command that changes something. */
export interface ActorOption {
  readonly actor?: string
}

/** For a command that repairs, or only looks. */
export const ON_ANY_STORES: SessionOptions = { onAnyStores: true }
export const JSON_OPTION = ['--json', 'print JSON'] as const
const ACTOR_OPTION = [
  '--actor <name>',
  'actor to record in the log; default: the operating-system user',
] as const

/**
 * The action of a command that works on the stores. The tenant that it names must exist: without
 * one every figure would be a zero.
 */
export function onStores(
  run: (session: Session, ...given: never[]) => Promise<void>,
  options?: SessionOptions,
): (...given: unknown[]) => Promise<void> {
  return async (...all) => {
    // Commander gives the arguments, the options, and itself.
    const given = all.slice(0, -1) as never[]
    const { tenant }: { readonly tenant?: string } = given.at(-1) ?? {}
    await withSession(async (session) => {
      if (tenant !== undefined) await requireTenant(session, tenant)
      await run(session, ...given)
    }, options)
  }
}

/** Refuses a tenant that the log does not have. @throws CommandError naming the nearest */
export async function requireTenant(
  { log, pool: db }: Pick<Session, 'log' | 'pool'>,
  tenantId: string,
): Promise<void> {
  if ((await readTenant({ log, db }, tenantId)) !== undefined) return
  const hint = await nearestTenant({ db }, tenantId)
  throw new CommandError(`there is no tenant ${tenantId}${hint}`)
}

/** The read models that a session's stores hold, and whether they are those of this program. */
export function readModelsOf({ pool: db, log }: Pick<Session, 'pool' | 'log'>): ReadModels {
  const logEnd = () => log.endPosition()
  return createReadModels({ db, projections: allProjections, logEnd, clock: systemClock })
}

/** Options of a command that changes something: the actor, and the form of the result. */
export function changing(command: Command): Command {
  return command.option(...ACTOR_OPTION).option(...JSON_OPTION)
}

/** A command that changes something, and may say why. */
export function changingWithReason(command: Command): Command {
  return changing(command).option('--reason <text>', 'why, for the list of changes')
}

const MAX_REASON_CHARACTERS = 256

/** The value of `--reason`; undefined where it is not given. @throws UsageError */
export function reasonOf({ reason }: { readonly reason?: string }): string | undefined {
  if (reason === undefined || isPrintable(reason, MAX_REASON_CHARACTERS)) return reason
  throw new UsageError(
    `--reason must be one line of 1 to ${MAX_REASON_CHARACTERS} characters, none of them hidden`,
  )
}

/** The dependencies of commands that change access. */
export function depsOf(
  { log, pool: db }: Session,
  { actor }: ActorOption,
): AccountCommandDeps & ManagementDeps {
  return { log, db, catalog, clock: systemClock, correlationId: 'cli', actor: actorOf(actor) }
}

/** Collects the values of an option that may be repeated. */
export function also(text: string, before: readonly string[]): readonly string[] {
  return [...before, text]
}

/** The value of an option with few words; undefined where it is not given. @throws UsageError */
export function oneOf<Word extends string>(
  option: string,
  words: readonly Word[],
  given: string | undefined,
): Word | undefined {
  const word = words.find((known) => known === given)
  if (given === undefined || word !== undefined) return word
  throw new UsageError(`${option} must be one of ${words.join(', ')}`)
}
