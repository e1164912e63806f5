import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { isPrintable, isSameText } from '../../kernel/characters.ts'
import { DomainError } from '../../kernel/errors.ts'
import { type Person, PersonSchema } from './postings.ts'

/** Members that every event of a setting has in addition to its terms. */
interface SettingFacts {
  readonly tenantId: string
  /** Counts the events of the setting from 1. */
  readonly revision: number
  /** RFC 3339. */
  readonly setAt: string
  /** Why it was set, where its events may say so; absent: not said. */
  readonly reason?: string
  /** Who set it, where its events name the person; null: a shell; absent in older events. */
  readonly by?: Person | null
}

/** Something with a revision; 0: it was never set. */
interface Revised {
  readonly revision: number
}

/** Why an administrator of the tenant may not set something. */
interface OperatorsOnly {
  readonly param: string
  readonly message: string
}

/** The declaration of a setting. `Terms` are the terms in its event. */
interface Declared<Code, Type, Terms, Wanted> {
  /** Begins the names of its errors: `<code>_invalid` and `<code>_changed`. */
  readonly code: Code
  /** Name of the setting in messages. */
  readonly title: string
  /** Advice in the refusal of a change whose `basis` is outdated. */
  readonly lookAgain?: string
  /** The type of its event, which has all of the setting from now on. */
  readonly type: Type
  /** The terms before it was ever set. */
  readonly none: Terms
  /**
   * Checks the wanted terms and returns them in canonical form; `at` is the time of the change, RFC
   * 3339. @throws DomainError `setting_invalid`
   */
  readonly canonical: (wanted: Wanted, now: Terms & Revised, at: string) => Terms
  /** Returns the same text for the same terms, in any order. */
  readonly fingerprint: (terms: Terms) => string
  /**
   * `all`: only operators set it. A function: finds the part that only operators may change.
   * Absent: administrators may change all of it.
   */
  readonly operatorsOnly?: 'all' | ((wanted: Wanted, now: Terms) => OperatorsOnly | undefined)
  /** Whether events name the person who set it, because a change may need a second one. */
  readonly namesPerson?: true
  /** Whether events say why it was set, where that is given; a setting with a reason among its terms does not. */
  readonly takesReason?: true
  /** Describes its event in one line for people. */
  readonly words: (value: Terms & Revised) => string
}

/** Something that is set for a tenant as a whole, with a revision. */
export interface AccountSetting<
  Code,
  Event extends { readonly type: string },
  Terms,
  Wanted,
> extends Declared<Code, Event['type'], Terms, Wanted> {
  readonly schema: TSchema
  readonly event: (data: SettingFacts & Terms) => Event
}

/** A setting as it was last set. */
export type SettingValue<Setting extends { readonly none: unknown }> = Setting['none'] & Revised

/** Declares a setting; `terms` are the members of its event. */
export function accountSetting<
  const Code extends string,
  const Type extends string,
  Terms extends TProperties,
  Wanted,
>(
  declared: Declared<Code, Type, Static<TObject<Terms>>, Wanted> & { readonly terms: Terms },
): AccountSetting<
  Code,
  { readonly type: Type; readonly data: SettingFacts & Static<TObject<Terms>> },
  Static<TObject<Terms>>,
  Wanted
> {
  const { type } = declared
  return {
    ...declared,
    schema: Type.Object({
      tenantId: Type.String(),
      revision: Type.Integer({ minimum: 1 }),
      ...declared.terms,
      ...(declared.namesPerson && { by: Type.Optional(Type.Union([PersonSchema, Type.Null()])) }),
      ...(declared.takesReason && { reason: Type.Optional(Type.String()) }),
      setAt: Type.String(),
    }),
    event: (data) => ({ type, data }),
  }
}

/** The setting that an event sets. */
export function valueOf<Data extends SettingFacts>({ data }: { readonly data: Data }) {
  const { tenantId: _tenantId, setAt: _setAt, by: _by, ...value } = data
  return value
}

/** The setting that an event sets whose reason is why it was set. */
export function valueWithoutReason<Data extends SettingFacts>(event: { readonly data: Data }) {
  const { reason: _reason, ...value } = valueOf(event)
  return value
}

const MAX_REASON_CHARACTERS = 256

/** The reason of a change as its event has it. @throws DomainError `setting_invalid` */
function reasonIn(
  { takesReason, code }: { readonly takesReason?: true; readonly code: string },
  given: string | undefined,
): { readonly reason?: string } {
  const reason = given?.trim() ?? ''
  // A setting with a reason among its terms, such as a status, has no other.
  if (takesReason !== true || reason === '') return {}
  if (!isPrintable(reason, MAX_REASON_CHARACTERS))
    invalidSetting(code)(
      'reason',
      `is one line of at most ${MAX_REASON_CHARACTERS} characters, none of them hidden`,
    )
  return { reason }
}

/** The wanted value of a setting: all of it, not a change of a part. */
export interface WantedSetting<Wanted> {
  readonly tenantId: string
  readonly wanted: Wanted
  /** The revision that was looked at, 0 for none; absent: no check. */
  readonly basis?: number | undefined
  /** Who sets it, for the event of a setting that names the person; undefined: a shell. */
  readonly by?: Person | undefined
  /** Why, in one line; undefined or empty: not said. */
  readonly reason?: string | undefined
}

/**
 * Setting the same again decides to no event.
 *
 * @param at RFC 3339
 * @throws DomainError `setting_invalid`, `setting_changed` when it was set after `basis`
 */
export function decideSetting<Event extends { readonly type: string }, Terms, Wanted>(
  setting: AccountSetting<string, Event, Terms, Wanted>,
  { tenantId, wanted, basis, by, reason, at }: WantedSetting<Wanted> & { readonly at: string },
  now: Terms & Revised,
): readonly Event[] {
  const { code, title, lookAgain = 'look at them again' } = setting
  const { revision } = now
  const terms = setting.canonical(wanted, now, at)
  const why = reasonIn(setting, reason)
  // An old basis is no fault here: a caller that sends the same again has not seen the answer.
  if (isSameText(setting.fingerprint(terms), setting.fingerprint(now))) return []
  if (basis !== undefined && basis !== revision)
    throw new DomainError(
      'setting_changed',
      `the ${title} of this tenant were set in the meantime, to revision ${revision}: ${lookAgain}`,
      { setting: code, tenantId, revision },
    )
  const person = setting.namesPerson && { by: by ?? null }
  return [
    setting.event({ tenantId, revision: revision + 1, ...terms, ...person, ...why, setAt: at }),
  ]
}

/** Refuses an invalid member of a setting, by name. */
export function invalidSetting(setting: string): (param: string, message: string) => never {
  return (param, message) => {
    throw new DomainError('setting_invalid', `${param}: ${message}`, { setting, param })
  }
}

/** The first name that is there twice. */
export function repeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index)
}

/** Joins lines into one text, independent of their order. */
export function unordered(lines: readonly string[]): string {
  return lines.toSorted().join('\n')
}
