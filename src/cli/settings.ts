import { changeSetting, type ManagedSetting, readSetting } from '../app/accounts/settings.ts'
import { doCallsHold } from '../app/spending/replica-reports.ts'
import type { SettingName, SettingValueOf, WantedOf } from '../domain/account/settings.ts'
import { resolveByDns } from '../platform/resolve-host.ts'
import { type ActorOption, depsOf } from './command.ts'
import { note, print, toJson } from './output.ts'
import { showProposed } from './proposals.ts'
import type { Session } from './session.ts'
import { readServedModels } from './upstreams.ts'

/** Options of every command on a setting. */
export interface OfTenant extends ActorOption {
  readonly tenant: string
  readonly json?: boolean
  readonly reason?: string
}

/** Changes or proposes a setting unless it was changed in the meantime, and shows what it is then. */
export async function changeSettingCommand<Name extends SettingName>(
  session: Session,
  options: OfTenant,
  setting: Omit<ManagedSetting<Name, unknown>, 'prepare'>,
  commands: {
    readonly next: (before: SettingValueOf<Name>) => WantedOf<Name> | Promise<WantedOf<Name>>
    readonly show: (
      after: SettingValueOf<Name>,
      before: SettingValueOf<Name>,
      changed: boolean,
    ) => void | Promise<void>
  },
): Promise<void> {
  const { config } = session
  const deps = {
    ...depsOf(session, options),
    servedModels: () => readServedModels(config),
    doCallsHold,
    resolveHost: resolveByDns,
    trustedTargets: config.webhookTargets,
  }
  const { before, changed, position, value, proposal } = await changeSetting(deps, setting, {
    tenantId: options.tenant,
    reason: options.reason,
    next: async (now) => ({ wanted: await commands.next(now), basis: now.revision }),
    warn: note,
  })
  if (proposal !== undefined) {
    const { tenant: tenantId } = options
    if (!changed) note('it was already proposed')
    return showProposed(session, options, { tenantId }, proposal, position)
  }
  if (!changed) note('unchanged')
  await commands.show(value, before, changed)
  await session.projected(setting.readModel ?? 'timeline', position)
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
      show(
        session,
        options,
        await readSetting({ log: session.log, db: session.pool }, options.tenant, setting.name),
      ),
    change: (
      session: Session,
      options: OfTenant,
      next: (before: SettingValueOf<Name>) => WantedOf<Name>,
    ): Promise<void> =>
      changeSettingCommand(session, options, setting, {
        next,
        show: (after) => show(session, options, after),
      }),
  }
}
