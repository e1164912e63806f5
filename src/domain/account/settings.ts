import { balanceAlerts } from './balance-alerts.ts'
import { budgets } from './budgets.ts'
import type { SettingEvent } from './events.ts'
import { limits } from './limits.ts'
import { accountPrices } from './prices.ts'
import { type AccountSetting, decideSetting, type WantedSetting } from './setting.ts'

/** Every setting of an account, by the name it has in `AccountSettings`. */
const settings = { prices: accountPrices, budgets, limits, balanceAlerts } as const

export type SettingName = keyof typeof settings
const settingNames = Object.keys(settings) as readonly SettingName[]
type Values = { readonly [Name in SettingName]: (typeof settings)[Name]['none'] }
type Wanted = {
  readonly [Name in SettingName]: Parameters<(typeof settings)[Name]['canonical']>[0]
}
type Terms = { readonly [Name in SettingName]: ReturnType<(typeof settings)[Name]['canonical']> }
export type SettingValueOf<Name extends SettingName> = Values[Name]
export type WantedOf<Name extends SettingName> = Wanted[Name]

/** The settings of an account as they were last set; absent until they are. */
export type AccountSettings = { readonly [Name in SettingName]?: Values[Name] | undefined }

/** Sets one setting. */
export interface SetSetting<Name extends SettingName = SettingName> extends WantedSetting<
  Wanted[Name]
> {
  readonly kind: 'set-setting'
  readonly setting: Name
  /** RFC 3339. */
  readonly at: string
}

type Definition<Name extends SettingName> = AccountSetting<Values[Name], Wanted[Name], Terms[Name]>
const definitions: { readonly [Name in SettingName]: Definition<Name> } = settings

/** What the setting is. */
export function definitionOf<Name extends SettingName>(name: Name): Definition<Name> {
  return definitions[name]
}

/** A setting of an account, also before it was set. */
export function settingIn<Name extends SettingName>(
  all: AccountSettings,
  name: Name,
): Values[Name] {
  const set: Values[Name] | undefined = all[name]
  return set ?? definitions[name].none
}

/** @throws DomainError `<code>_invalid`, `<code>_changed` */
export function setSetting<Name extends SettingName>(
  command: SetSetting<Name>,
  now: AccountSettings,
): readonly SettingEvent[] {
  return decideSetting(definitionOf(command.setting), command, settingIn(now, command.setting))
}

/** The settings after an event. */
export function evolveSettings(now: AccountSettings, event: SettingEvent): AccountSettings {
  return settingNames.reduce(
    (known, name) => withSetting(known, name, settings[name].read(event)),
    now,
  )
}

/** Of each setting the one that was set later; `one` where both are the same. */
export function latestSettings(one: AccountSettings, other: AccountSettings): AccountSettings {
  return settingNames.reduce((known, name) => {
    const value = other[name]
    return value !== undefined && value.revision > (known[name]?.revision ?? 0)
      ? withSetting(known, name, value)
      : known
  }, one)
}

function withSetting<Name extends SettingName>(
  all: AccountSettings,
  name: Name,
  value: Values[Name] | undefined,
): AccountSettings {
  return value === undefined ? all : { ...all, [name]: value }
}
