import type { Command } from 'commander'
import type { Session } from '../session.ts'

/** What the commands of every group share. */

export const JSON_OPTION = ['--json', 'print JSON for machines'] as const
const ACTOR_OPTION = [
  '--actor <name>',
  'who has it done, as the log will say; the operating-system user unless named',
] as const

/** Runs a command on the stores. What a command is made of is loaded only when it is run. */
export async function onStores(run: (session: Session) => Promise<void>): Promise<void> {
  const { withSession } = await import('../session.ts')
  await withSession(run)
}

/** Options of a command that changes something: who, and how the result is said. */
export function changing(command: Command): Command {
  return command.option(...ACTOR_OPTION).option(...JSON_OPTION)
}
