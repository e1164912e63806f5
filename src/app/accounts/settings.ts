import type { ProposalRow } from '../../../projections/proposals/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { Catalog, ServedModel } from '../../domain/catalog/catalog.ts'
import {
  definitionOf,
  settingIn,
  type SettingName,
  type SettingValueOf,
  type WantedOf,
} from '../../domain/account/settings.ts'
import type { WantedSetting } from '../../domain/account/setting.ts'
import type { Person } from '../../domain/account/postings.ts'
import { proposalOfSetting } from '../../domain/account/proposals.ts'
import { mayGive } from '../../domain/account/setting-changes.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import type { ResolveHost } from '../../kernel/public-url.ts'
import type { TrustedTarget } from '../../kernel/trusted-targets.ts'
import { toProposalRow } from './credit.ts'
import { personWithIssuers } from './known-token.ts'
import { readSettings } from './account-facts.ts'
import type { AccountSource } from './account-state.ts'
import { type AccountCommandDeps, type Changed, decideOnAccount } from './account-commands.ts'
import { requireUsers } from './users.ts'
import type { ManagedTenants } from './managed-tenants.ts'
import { type Actor, depsOf, type ManagementDeps, shown } from './management.ts'
import { type AdminScope, requireOperator } from './admin-scope.ts'

/** The dependencies of checking settings. */
export interface CheckDeps extends Pick<ManagementDeps, 'log' | 'db'> {
  /** Whether calls of a tenant hold money, or are not yet recorded. */
  readonly doCallsHold: (db: Queryable, tenantId: string) => Promise<boolean>
  readonly catalog: Catalog
  /** Models that channels serve; undefined when unknown. */
  readonly servedModels: () => Promise<readonly ServedModel[] | undefined>
  readonly resolveHost: ResolveHost
  /** Targets to which webhooks may be sent unchecked. */
  readonly trustedTargets: readonly TrustedTarget[]
}

interface SettingDeps extends ManagementDeps, CheckDeps {
  readonly markerSecret: string
}

/** Management of a setting; `Shown` is the setting with the facts that the API shows with it. */
export interface ManagedSetting<Name extends SettingName, Shown> {
  readonly name: Name
  /** Refuses impossible values; returns warnings about unlikely ones. @throws DomainError */
  readonly check?: (
    deps: CheckDeps,
    tenantId: string,
    wanted: WantedOf<Name>,
    now: SettingValueOf<Name>,
  ) => Promise<readonly string[]>
  /**
   * Reads the needed facts and returns the function that shows the setting, which reads nothing: a
   * failed read cannot fail a finished change. `wanted` is what will be set; undefined if the
   * setting is only shown.
   */
  readonly prepare: (
    deps: SettingDeps,
    tenantId: string,
    now: SettingValueOf<Name>,
    wanted: WantedOf<Name> | undefined,
  ) => Promise<(value: SettingValueOf<Name>) => Shown>
  /** Adds what a change is compared with where approvals are set, to see whether it gives more. */
  readonly compared?: (
    deps: Pick<AccountCommandDeps, 'clock'> & CheckDeps,
    wanted: WantedOf<Name>,
  ) => Promise<WantedOf<Name>>
  /** The read model of the setting, if there is one: a change waits for it. */
  readonly readModel?: 'access'
}

/** Limits are shown without further facts. */
export const managedLimits: ManagedSetting<'limits', SettingValueOf<'limits'>> = {
  name: 'limits',
  check: async (deps, tenantId, { limits }) => {
    const ids = limits.flatMap(({ subject }) => (subject.kind === 'user' ? [subject.userId] : []))
    await requireUsers(deps, tenantId, ids)
    return []
  },
  prepare: () => Promise.resolve((limits) => limits),
}

/** Reporting settings are shown without further facts. */
export const managedReporting: ManagedSetting<'reporting', SettingValueOf<'reporting'>> = {
  name: 'reporting',
  prepare: () => Promise.resolve((reporting) => reporting),
}

/** Billing profiles are shown without further facts. */
export const managedBilling: ManagedSetting<'billing', SettingValueOf<'billing'>> = {
  name: 'billing',
  prepare: () => Promise.resolve((billing) => billing),
}

/** Approval settings are shown without further facts. */
export const managedApprovals: ManagedSetting<'approvals', SettingValueOf<'approvals'>> = {
  name: 'approvals',
  prepare: () => Promise.resolve((approvals) => approvals),
}

/** Names of tenants are shown without further facts. */
export const managedName: ManagedSetting<'name', SettingValueOf<'name'>> = {
  name: 'name',
  prepare: () => Promise.resolve((name) => name),
  readModel: 'access',
}

/** A setting after a request for it. */
interface SetOutcome<Name extends SettingName> extends Changed {
  readonly value: SettingValueOf<Name>
  /** Set where the change is only proposed, and nothing is set. */
  readonly proposal: ProposalRow | undefined
}

/**
 * Replaces a whole setting, or proposes it; a repetition changes nothing. It does not check it.
 * @throws DomainError of the account decider
 */
export async function setSetting<Name extends SettingName>(
  deps: AccountCommandDeps,
  setting: Name,
  wanted: WantedSetting<WantedOf<Name>>,
): Promise<SetOutcome<Name>> {
  const nowMs = deps.clock.nowMs()
  const command = { kind: 'set-setting', setting, ...wanted, at: toTimestamp(nowMs) } as const
  const decided = await decideOnAccount(deps, command)
  const proposal = proposalOfSetting(command, decided.state)
  return {
    proposal: proposal && toProposalRow(proposal, nowMs),
    changed: decided.events.length > 0,
    position: decided.position,
    value: settingIn(decided.state.settings, setting),
  }
}

/** A setting of a tenant, from the log. @throws what the log throws */
export async function readSetting<Name extends SettingName>(
  source: AccountSource,
  tenantId: string,
  name: Name,
): Promise<SettingValueOf<Name>> {
  return settingIn(await readSettings(source, tenantId), name)
}

/** The wanted value of the whole setting, and the revision that it replaces; without one, any. */
type NextSetting<Name extends SettingName> = Pick<WantedSetting<WantedOf<Name>>, 'wanted' | 'basis'>

/**
 * Reads a setting, checks the result of `next`, and replaces the setting. Warnings are given before
 * the change is made.
 * @throws DomainError of `next`, of the setting's check and of the account decider
 */
export async function changeSetting<Name extends SettingName, Next extends NextSetting<Name>>(
  deps: AccountCommandDeps & CheckDeps,
  { name, check, compared }: Pick<ManagedSetting<Name, unknown>, 'name' | 'check' | 'compared'>,
  change: {
    readonly tenantId: string
    /** Who sets it; absent: a shell. */
    readonly by?: Person | undefined
    /** Why; absent: not said. */
    readonly reason?: string | undefined
    readonly next: (before: SettingValueOf<Name>) => Promise<Next>
    readonly warn: (warning: string) => void
  },
) {
  const { tenantId, by, reason } = change
  const before = await readSetting(deps, tenantId, name)
  const next = await change.next(before)
  const { basis } = next
  for (const warning of (await check?.(deps, tenantId, next.wanted, before)) ?? [])
    change.warn(warning)
  const isCompared = compared && (await readSetting(deps, tenantId, 'approvals')).limits.length > 0
  const wanted = isCompared ? await compared(deps, next.wanted) : next.wanted
  return {
    before,
    next,
    ...(await setSetting(deps, name, { tenantId, wanted, basis, by, reason })),
  }
}

/**
 * Management of tenants' settings by tokens: settings of a tenant outside the scope read exactly
 * like those of a missing one (P8).
 */
export interface ManagedSettings {
  /** @throws DomainError `tenant_not_found` */
  readonly show: <Name extends SettingName, Shown>(
    setting: ManagedSetting<Name, Shown>,
    adminScope: AdminScope,
    tenantId: string,
  ) => Promise<Shown>
  /**
   * `wanted` is called only if the token may set a part of the setting.
   * @throws DomainError `scope_denied`, `tenant_not_found`, those of `check` and of the account
   *   decider
   */
  readonly set: <Name extends SettingName, Shown>(
    setting: ManagedSetting<Name, Shown>,
    adminScope: AdminScope,
    by: Actor,
    input: Omit<WantedSetting<WantedOf<Name>>, 'wanted'> & {
      readonly wanted: () => WantedOf<Name>
    },
  ) => Promise<{
    readonly changed: boolean
    /** Set where the change waits for a second user. */
    readonly proposal: ProposalRow | undefined
    readonly shown: Shown
    readonly warnings: readonly string[]
  }>
}

/** A change that named no revision is checked again at most so often. */
const MAX_CHECKS = 5

/** Checks a change again where another one came between its check and its write. */
async function checkedAgain<Made>(change: () => Promise<Made>, left = MAX_CHECKS): Promise<Made> {
  try {
    return await change()
  } catch (error) {
    if (left <= 1 || !isDomainError(error, 'setting_changed')) throw error
    return checkedAgain(change, left - 1)
  }
}

/** @throws the codes of the log and of the database; `read_model_behind` */
export function createManagedSettings(
  deps: SettingDeps,
  tenants: Pick<ManagedTenants, 'find'>,
): ManagedSettings {
  return {
    show: async ({ name, prepare }, adminScope, tenantId) => {
      await tenants.find(adminScope, tenantId)
      const now = await readSetting(deps, tenantId, name)
      return (await prepare(deps, tenantId, now, undefined))(now)
    },
    set: async (setting, adminScope, by, { tenantId, basis, reason, ...input }) => {
      const { operatorsOnly } = definitionOf(setting.name)
      // An operator's scope includes every tenant, and the decider refuses a missing one.
      if (operatorsOnly === 'all') requireOperator(adminScope)
      const wanted = input.wanted()
      if (operatorsOnly !== 'all') await tenants.find(adminScope, tenantId)
      const isBound = typeof operatorsOnly === 'function' && adminScope.kind !== 'all'
      const warnings = new Set<string>()
      const person = mayGive(setting.name) ? await personWithIssuers(deps.log, by) : undefined
      const change = () =>
        changeSetting({ ...deps, ...depsOf(deps, by) }, setting, {
          tenantId,
          by: person,
          reason,
          next: async (now) => {
            const refused = isBound ? operatorsOnly(wanted, now) : undefined
            if (refused !== undefined)
              throw new DomainError('scope_denied', refused.message, { param: refused.param })
            return {
              wanted,
              // An administrator's rights were checked against these settings, so they must not have
              // changed.
              basis: basis ?? (isBound ? now.revision : undefined),
              show: await setting.prepare(deps, tenantId, now, wanted),
            }
          },
          warn: (warning) => warnings.add(warning),
        })
      const made = await (basis === undefined ? checkedAgain(change) : change())
      if (made.proposal !== undefined) await shown(deps, 'proposals', made.position)
      else if (setting.readModel !== undefined) await shown(deps, setting.readModel, made.position)
      return {
        changed: made.changed,
        proposal: made.proposal,
        shown: made.next.show(made.value),
        warnings: [...warnings],
      }
    },
  }
}
