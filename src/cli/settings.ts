import { catalog } from '../families/index.ts'
import { readSettings } from '../app/accounts/account-facts.ts'
import { type ManagedSetting, setSetting } from '../app/accounts/settings.ts'
import {
  settingIn,
  type SettingName,
  type SettingValueOf,
  type WantedOf,
} from '../domain/account/settings.ts'
import { resolveByDns } from '../kernel/resolve-host.ts'
import { type ActorOption, depsOf } from './access.ts'
import { note, print, toJson } from './output.ts'
import type { Session } from './session.ts'
import { readServedModels } from './upstreams.ts'

/** Options of every command on a setting. */
export interface OfTenant extends ActorOption {
  readonly tenant: string
  readonly json?: boolean
}

/** The setting of a tenant as the log has it. */
export async function readSetting<Name extends SettingName>(
  { log, pool: db }: Session,
  { tenant }: OfTenant,
  name: Name,
): Promise<SettingValueOf<Name>> {
  return settingIn(await readSettings({ log, db }, tenant), name)
}

/** Reads a setting, changes it unless it was changed in the meantime, and shows what it is then. */
export async function changeSetting<Name extends SettingName>(
  session: Session,
  options: OfTenant,
  { name, check, readModel }: Omit<ManagedSetting<Name, unknown>, 'prepare'>,
  commands: {
    readonly next: (before: SettingValueOf<Name>) => WantedOf<Name> | Promise<WantedOf<Name>>
    readonly show: (
      after: SettingValueOf<Name>,
      before: SettingValueOf<Name>,
      changed: boolean,
    ) => void | Promise<void>
  },
): Promise<void> {
  const { tenant: tenantId } = options
  const { config, log, pool: db } = session
  const before = await readSetting(session, options, name)
  const wanted = await commands.next(before)
  const checked = {
    log,
    db,
    catalog,
    servedModels: () => readServedModels(config),
    resolveHost: resolveByDns,
    trustedTargets: config.webhookTargets,
  }
  for (const warning of (await check?.(checked, tenantId, wanted, before)) ?? []) note(warning)
  const { changed, position, value } = await setSetting(depsOf(session, options), name, {
    tenantId,
    wanted,
    basis: before.revision,
  })
  if (!changed) note('unchanged')
  await commands.show(value, before, changed)
  await session.projected(readModel ?? 'timeline', position)
}

/** A setting as a command shows it: as JSON, and as lines for people. */
interface View {
  readonly json: object
  readonly lines: readonly string[]
}

/** Commands that show a setting, and that change some of it and show all of it. */
export function settingCommands<Name extends SettingName>(
  setting: Omit<ManagedSetting<Name, unknown>, 'prepare'>,
  view: (session: Session, tenantId: string, value: SettingValueOf<Name>) => View | Promise<View>,
) {
  const show = async (session: Session, options: OfTenant, value: SettingValueOf<Name>) => {
    const { json, lines } = await view(session, options.tenant, value)
    for (const line of options.json ? [toJson(json)] : lines) print(line)
  }
  return {
    show: async (session: Session, options: OfTenant): Promise<void> =>
      show(session, options, await readSetting(session, options, setting.name)),
    change: (
      session: Session,
      options: OfTenant,
      next: (before: SettingValueOf<Name>) => WantedOf<Name>,
    ): Promise<void> =>
      changeSetting(session, options, setting, {
        next,
        show: (after) => show(session, options, after),
      }),
  }
}
