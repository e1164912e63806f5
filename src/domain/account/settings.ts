import { approvals } from './approvals.ts'
import { balanceAlerts } from './balance-alerts.ts'
import { billing } from './billing.ts'
import { budgets } from './budgets.ts'
import { limits } from './limits.ts'
import { tenantName } from './name.ts'
import { accountPrices } from './prices.ts'
import { reporting } from './reporting.ts'
import {
  type AccountSetting,
  decideSetting,
  type SettingValue,
  valueOf,
  valueWithoutReason,
  type WantedSetting,
} from './setting.ts'
import { tenantStatus } from './status.ts'

/**
 * Every setting of an account, by the name it has in `AccountSettings`. Its event, its errors and
 * the cached facts of an account are derived from this list.
 */
const settings = {
  prices: accountPrices,
  balanceAlerts,
  budgets,
  limits,
  reporting,
  billing,
  approvals,
  status: tenantStatus,
  name: tenantName,
} as const

type Settings = typeof settings
export type SettingName = keyof Settings
type Terms = { readonly [Name in SettingName]: Settings[Name]['none'] }
type Wanted = { readonly [Name in SettingName]: Parameters<Settings[Name]['canonical']>[0] }
type Values = { readonly [Name in SettingName]: SettingValue<Settings[Name]> }
type Events = { readonly [Name in SettingName]: ReturnType<Settings[Name]['event']> }
export type SettingValueOf<Name extends SettingName> = Values[Name]
export type WantedOf<Name extends SettingName> = Wanted[Name]
/** An event that sets a setting of an account. */
export type SettingEvent = Events[SettingName]

/** Codes of the errors of settings: `<code>_invalid` and `<code>_changed`. */
export type SettingCode = Settings[SettingName]['code']

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

type Definition<Name extends SettingName> = AccountSetting<
  SettingCode,
  Events[Name],
  Terms[Name],
  Wanted[Name]
>
const definitions: { readonly [Name in SettingName]: Definition<Name> } = settings

/** Every setting. */
export const allSettings = Object.entries(definitions) as readonly {
  readonly [Name in SettingName]: readonly [Name, Settings[Name]]
}[SettingName][]

/** The code of every setting. */
export const settingCodes: readonly SettingCode[] = allSettings.map(([, { code }]) => code)

const nameByEvent = new Map(allSettings.map(([name, { type }]) => [type, name]))

/** The terms of the setting. */
export function definitionOf<Name extends SettingName>(name: Name): Definition<Name> {
  return definitions[name]
}

/** Whether an event sets a setting of an account. */
export function isSettingEvent<Event extends { readonly type: string }>(
  event: Event,
): event is Extract<Event, { readonly type: SettingEvent['type'] }> {
  return (nameByEvent as ReadonlyMap<string, SettingName>).has(event.type)
}

const unset = Object.fromEntries(
  allSettings.map(([name, { none }]) => [name, { revision: 0, ...none }]),
) as Values

/** A setting of an account, also before it was set. */
export function settingIn<Name extends SettingName>(
  all: AccountSettings,
  name: Name,
): Values[Name] {
  const set: Values[Name] | undefined = all[name]
  return set ?? unset[name]
}

/** @throws DomainError `setting_invalid`, `setting_changed` */
export function setSetting<Name extends SettingName>(
  command: SetSetting<Name>,
  now: AccountSettings,
): readonly SettingEvent[] {
  return decideSetting(definitionOf(command.setting), command, settingIn(now, command.setting))
}

/** The settings after an event. */
export function evolveSettings(now: AccountSettings, event: SettingEvent): AccountSettings {
  const name = nameByEvent.get(event.type)
  if (name === undefined) return now
  const isOfChange = definitions[name].takesReason === true
  const value = isOfChange
    ? valueWithoutReason<SettingEvent['data']>(event)
    : valueOf<SettingEvent['data']>(event)
  return { ...now, [name]: value }
}

/** Takes of each setting the one that was set later; `one` where both are the same. */
export function latestSettings(one: AccountSettings, other: AccountSettings): AccountSettings {
  return allSettings.reduce((known, [name]) => {
    const value = other[name]
    return value !== undefined && value.revision > (known[name]?.revision ?? 0)
      ? { ...known, [name]: value }
      : known
  }, one)
}
