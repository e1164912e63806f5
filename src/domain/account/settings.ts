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
type ValueOf<Name extends SettingName> = (typeof settings)[Name]['none']
type WantedOf<Name extends SettingName> = Parameters<(typeof settings)[Name]['canonical']>[0]
type TermsOf<Name extends SettingName> = ReturnType<(typeof settings)[Name]['canonical']>

/** The settings of an account as they were last set; absent until they are. */
export type AccountSettings = { readonly [Name in SettingName]?: ValueOf<Name> | undefined }

/** Sets one setting. */
export type SetSetting<Name extends SettingName = SettingName> = {
  readonly [Each in Name]: WantedSetting<WantedOf<Each>> & {
    readonly kind: 'set-setting'
    readonly setting: Each
    /** RFC 3339. */
    readonly at: string
  }
}[Name]

type Definitions = {
  readonly [Name in SettingName]: AccountSetting<ValueOf<Name>, WantedOf<Name>, TermsOf<Name>>
}
const definitions: Definitions = settings

/** @throws DomainError `<code>_invalid`, `<code>_changed` */
export function setSetting<Name extends SettingName>(
  command: SetSetting<Name>,
  now: AccountSettings,
): readonly SettingEvent[] {
  const definition: Definitions[Name] = definitions[command.setting]
  return decideSetting(definition, command, now[command.setting])
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
  value: ValueOf<Name> | undefined,
): AccountSettings {
  return value === undefined ? all : { ...all, [name]: value }
}
