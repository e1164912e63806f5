import { type DomainCode, DomainError } from '../../kernel/errors.ts'
import type { SettingEvent } from './events.ts'

/** How the codes of a setting's errors begin: `<code>_invalid` and `<code>_changed`. */
type SettingCode = {
  readonly [Code in DomainCode]: Code extends `${infer Name}_changed`
    ? `${Name}_invalid` extends DomainCode
      ? Name
      : never
    : never
}[DomainCode]

/** A setting as it was last set; revision 0: it never was. */
interface SettingValue {
  readonly revision: number
}

/** Why an administrator of the tenant may not set something. */
interface OperatorsOnly {
  readonly param: string
  readonly message: string
}

/** What every event of a setting has beside its terms. */
interface SettingFacts {
  readonly tenantId: string
  /** Counts the events of the setting from 1. */
  readonly revision: number
  /** RFC 3339. */
  readonly setAt: string
}

/** Something that is set for a tenant as a whole, with a revision. `Terms` is what its event says. */
export interface AccountSetting<Value extends SettingValue, Wanted, Terms> {
  readonly code: SettingCode
  /** What the setting is called in messages. */
  readonly title: string
  /** What to do when it was set in the meantime. */
  readonly lookAgain?: string
  readonly none: Value
  /** The setting that an event sets; undefined for every other event. */
  readonly read: (event: SettingEvent) => Value | undefined
  readonly event: (data: Terms & SettingFacts) => SettingEvent
  /** What is wanted, checked and written in one way. @throws DomainError `<code>_invalid` */
  readonly canonical: (wanted: Wanted, now: Value) => Terms
  /** The same text for the same terms, in any order. */
  readonly fingerprint: (terms: Terms | Value) => string
  /** `all`: only operators set it. Otherwise what of it administrators must leave as it is; absent: nothing. */
  readonly operatorsOnly?: 'all' | ((wanted: Wanted, now: Value) => OperatorsOnly | undefined)
}

/** What a setting shall be from now on: all of it, not a change of some. */
export interface WantedSetting<Wanted> {
  readonly tenantId: string
  readonly wanted: Wanted
  /** The revision that was looked at, 0 for none; absent: no check. */
  readonly basis?: number | undefined
}

/**
 * Setting the same again decides to no event.
 *
 * @param at RFC 3339
 * @throws DomainError `<code>_invalid`, `<code>_changed` when it was set after `basis`
 */
export function decideSetting<Value extends SettingValue, Wanted, Terms extends object>(
  setting: AccountSetting<Value, Wanted, Terms>,
  { tenantId, wanted, basis, at }: WantedSetting<Wanted> & { readonly at: string },
  now: Value,
): readonly SettingEvent[] {
  const { code, title, lookAgain = 'look at them again' } = setting
  const { revision } = now
  const terms = setting.canonical(wanted, now)
  // Also with an old basis: a caller that sends the same again has not seen the answer.
  if (setting.fingerprint(terms) === setting.fingerprint(now)) return []
  if (basis !== undefined && basis !== revision)
    throw new DomainError(
      `${code}_changed`,
      `the ${title} of this tenant were set in the meantime, to revision ${revision}: ${lookAgain}`,
      { tenantId, revision },
    )
  return [setting.event({ tenantId, revision: revision + 1, ...terms, setAt: at })]
}

/** Refuses what a setting cannot be, naming the member. */
export function invalidSetting(code: SettingCode): (param: string, message: string) => never {
  return (param, message) => {
    throw new DomainError(`${code}_invalid`, `${param}: ${message}`, { param })
  }
}

/** The first name that is there twice. */
export function repeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index)
}

/** One text for lines in any order. */
export function unordered(lines: readonly string[]): string {
  return lines.toSorted().join('\n')
}
