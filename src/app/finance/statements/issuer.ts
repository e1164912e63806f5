import { publishedKeys } from '../../../../projections/statements/query.ts'
import type { Party } from '../../../domain/account/party.ts'
import {
  issuerDecider,
  type IssuerProfile,
  type IssuerState,
  type PublishKey,
  type SetIssuer,
} from '../../../domain/issuer/decider.ts'
import { issuerStream } from '../../../domain/issuer/events.ts'
import { executeCommand, readOn } from '../../../eventlog/log/execute.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { invariant } from '../../../kernel/assert.ts'
import { type Clock, toTimestamp } from '../../../kernel/clock.ts'
import { newId } from '../../../kernel/ids.ts'
import type { AccountCommandDeps, Changed } from '../../accounts/account-commands.ts'
import { type AdminScope, requireOperator } from '../../accounts/admin-scope.ts'
import { type Actor, depsOf, type ManagementDeps } from '../../accounts/management.ts'

/** Whom statements are from, by the log: the stream has a few events. */

/** The profiles of the issuer and its published keys. @throws errors of the log */
export async function readIssuer(log: Pick<EventLog, 'readStream'>): Promise<IssuerState> {
  const { state } = await readOn(log, issuerStream, issuerDecider, undefined)
  return state
}

type IssuerDeps = Pick<AccountCommandDeps, 'correlationId' | 'actor'> & {
  readonly log: EventLog
  readonly clock: Clock
}

/** Decides a command about the issuer. @throws DomainError of its decider and of the log */
export function decideOnIssuer(
  { log, clock, correlationId, actor }: IssuerDeps,
  command: Omit<SetIssuer, 'at'> | Omit<PublishKey, 'at'>,
) {
  const nowMs = clock.nowMs()
  return executeCommand({
    log,
    stream: issuerStream,
    decider: issuerDecider,
    command: { ...command, at: toTimestamp(nowMs) },
    commandId: newId('cmd', nowMs),
    metadata: { correlationId, actor },
  })
}

/** The profile after a request for it. */
interface SetProfile extends Changed {
  readonly profile: IssuerProfile
}

/**
 * Replaces the whole profile of the issuer; the same again changes nothing.
 * @throws DomainError `setting_invalid`, `setting_changed`, and those of the log
 */
export async function setIssuer(
  deps: IssuerDeps,
  input: Pick<SetIssuer, 'wanted' | 'basis'>,
): Promise<SetProfile> {
  const { state, events, position } = await decideOnIssuer(deps, { kind: 'set-profile', ...input })
  const profile = state.profiles.at(-1)
  invariant(profile, 'the issuer was set and has no profile')
  return { profile, changed: events.length > 0, position }
}

/** The issuer of statements, by operators' tokens; for others every use but its keys is `scope_denied`. */
export interface ManagedIssuer {
  /** The public keys of statements, which everyone may know, by the read model: oldest first. */
  readonly keys: () => Promise<readonly string[]>
  /** Undefined: never set. */
  readonly show: (adminScope: AdminScope) => Promise<IssuerProfile | undefined>
  readonly set: (
    adminScope: AdminScope,
    by: Actor,
    input: { readonly wanted: Party; readonly basis: number | undefined },
  ) => Promise<SetProfile>
}

/** @throws the codes of the log and of the database */
export function createManagedIssuer(deps: ManagementDeps): ManagedIssuer {
  return {
    keys: () => publishedKeys(deps.db),
    show: async (adminScope) => {
      requireOperator(adminScope)
      const { profiles } = await readIssuer(deps.log)
      return profiles.at(-1)
    },
    set: async (adminScope, by, input) => {
      requireOperator(adminScope)
      return setIssuer(depsOf(deps, by), input)
    },
  }
}
