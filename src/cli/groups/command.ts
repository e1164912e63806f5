import type { Command } from 'commander'
import type { Session } from '../session.ts'

/** What the commands of every group share. */

export const JSON_OPTION = ['--json', 'print JSON for machines'] as const
const ACTOR_OPTION = [
  '--actor <name>',
  'who has it done, as the log will say; the operating-system user unless named',
] as const

/**
 * Runs a command on the stores. Its modules are loaded only when it runs. The tenant that it names
 * must exist: without one every figure would be a zero.
 */
export async function onStores(
  run: (session: Session) => Promise<void>,
  { tenant }: { readonly tenant?: string } = {},
): Promise<void> {
  const { withSession } = await import('../session.ts')
  if (tenant === undefined) return withSession(run)
  const { requireTenant } = await import('../known-tenant.ts')
  await withSession(async (session) => {
    await requireTenant(session, tenant)
    await run(session)
  })
}

/** Options of a command that changes something: the actor, and the form of the result. */
export function changing(command: Command): Command {
  return command.option(...ACTOR_OPTION).option(...JSON_OPTION)
}
