import type { Command } from 'commander'
import type { Session, SessionOptions } from './session.ts'

/** What the commands of every group share. */

/** For a command that repairs, or only looks. */
export const ON_ANY_STORES: SessionOptions = { onAnyStores: true }
export const JSON_OPTION = ['--json', 'print JSON for machines'] as const
const ACTOR_OPTION = [
  '--actor <name>',
  'who has it done, as the log will say; the operating-system user unless named',
] as const

/**
 * The action of a command that works on the stores. Its module is loaded only when it runs. The
 * tenant that it names must exist: without one every figure would be a zero.
 */
export function onStores(
  load: () => Promise<(session: Session, ...given: never[]) => Promise<void>>,
  options?: SessionOptions,
): (...given: unknown[]) => Promise<void> {
  return async (...all) => {
    // Commander gives the arguments, the options, and itself.
    const given = all.slice(0, -1) as never[]
    const { tenant }: { readonly tenant?: string } = given.at(-1) ?? {}
    const { withSession } = await import('./session.ts')
    await withSession(async (session) => {
      if (tenant !== undefined) {
        const { requireTenant } = await import('./tenants.ts')
        await requireTenant(session, tenant)
      }
      const run = await load()
      await run(session, ...given)
    }, options)
  }
}

/** Options of a command that changes something: the actor, and the form of the result. */
export function changing(command: Command): Command {
  return command.option(...ACTOR_OPTION).option(...JSON_OPTION)
}
