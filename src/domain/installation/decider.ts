import type { Decider } from '../decider.ts'
import type { DatabaseAdopted, InstallationEvent } from './events.ts'

/** The last adoption; undefined before the first. */
export type InstallationState = DatabaseAdopted | undefined

export interface InstallationCommand {
  /** `adopt-first` changes nothing if the log already names a database. */
  readonly kind: 'adopt-first' | 'adopt'
  readonly databaseId: string
  /** The name of a log that has none yet. */
  readonly logId: string
  readonly at: string
}

/** The log keeps its name for ever; the database it names may be replaced. */
export const installationDecider: Decider<
  InstallationState,
  InstallationCommand,
  InstallationEvent
> = {
  initial: undefined,
  decide: ({ kind, databaseId, logId, at: adoptedAt }, adopted) => {
    if (adopted !== undefined && (kind === 'adopt-first' || adopted.databaseId === databaseId))
      return []
    const data = { databaseId, logId: adopted?.logId ?? logId, adoptedAt }
    return [{ type: 'DatabaseAdopted', data }]
  },
  evolve: (_adopted, event) => event.data,
}
