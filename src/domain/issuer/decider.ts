import { DomainError } from '../../kernel/errors.ts'
import { type Party, partyFingerprint, canonicalParty } from '../account/party.ts'
import { invalidSetting } from '../account/setting.ts'
import type { Decider } from '../decider.ts'
import type { IssuerEvent, IssuerProfileSet } from './events.ts'

/** Whom statements are from. */
export type IssuerProfile = Omit<IssuerProfileSet, 'setAt'>

export interface IssuerState {
  /** Every profile; the index is its revision less 1, since a statement shows the one of its close. */
  readonly profiles: readonly IssuerProfile[]
  /** Public keys that statements were or are signed with, oldest first. */
  readonly vkeys: readonly string[]
}

/** Sets the whole profile. */
export interface SetIssuer {
  readonly kind: 'set-profile'
  readonly wanted: Party
  /** The revision that was looked at, 0 for none; undefined: no check. */
  readonly basis?: number | undefined
  /** RFC 3339. */
  readonly at: string
}

/** Publishes a key; a key that is published already changes nothing. */
export interface PublishKey {
  readonly kind: 'publish-key'
  readonly vkey: string
  /** RFC 3339. */
  readonly at: string
}

/** @throws DomainError `setting_invalid`, `setting_changed` of the setting `issuer` */
export const issuerDecider: Decider<IssuerState, SetIssuer | PublishKey, IssuerEvent> = {
  initial: { profiles: [], vkeys: [] },

  decide(command, { profiles, vkeys }) {
    if (command.kind === 'publish-key') {
      const { vkey, at: publishedAt } = command
      if (vkeys.includes(vkey)) return []
      return [{ type: 'StatementKeyPublished', data: { vkey, publishedAt } }]
    }
    return setProfile(command, profiles.at(-1))
  },

  evolve({ profiles, vkeys }, event) {
    if (event.type === 'StatementKeyPublished')
      return { profiles, vkeys: [...vkeys, event.data.vkey] }
    const { setAt: _setAt, ...profile } = event.data
    return { profiles: [...profiles, profile], vkeys }
  },
}

const refuse: (param: string, message: string) => never = invalidSetting('issuer')

/** Setting the same again decides to no event. */
function setProfile(
  { wanted, basis, at }: SetIssuer,
  now: IssuerProfile | undefined,
): readonly IssuerEvent[] {
  const party = canonicalParty(refuse, wanted)
  if (now !== undefined && partyFingerprint(party) === partyFingerprint(now)) return []
  const revision = now?.revision ?? 0
  if (basis !== undefined && basis !== revision)
    throw new DomainError(
      'setting_changed',
      `the issuer was set in the meantime, to revision ${revision}: look at it again`,
      { setting: 'issuer', revision },
    )
  return [{ type: 'IssuerProfileSet', data: { revision: revision + 1, ...party, setAt: at } }]
}
