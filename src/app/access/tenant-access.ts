import { type AccountSettings, settingIn } from '../../domain/account/settings.ts'
import { requireAllowed, type RequestPurpose } from '../../domain/account/status.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Principal } from './principal.ts'

/** Refuses what the life of a tenant and of its users does not allow. */
export interface TenantAccess {
  /**
   * Waits for the account, if this process has not read it for a while. If it cannot be read, what is
   * known counts, so that reads go on: calls and creations are refused without their prices anyway.
   *
   * @throws DomainError `tenant_closed`, `tenant_suspended`, `user_suspended`
   */
  readonly check: (principal: Principal, purpose: RequestPurpose) => Promise<void>
  /**
   * Refuses a creation by the settings that this process has read of the tenant: to be called once
   * its prices are known, which are read from the same account. @throws as `check`
   */
  readonly checkCreation: (principal: Principal) => void
}

export function createTenantAccess(
  facts: {
    readonly of: (tenantId: string) => Promise<AccountSettings>
    readonly known: (tenantId: string) => AccountSettings
  },
  clock: Clock,
): TenantAccess {
  const requireIn = (settings: AccountSettings, principal: Principal, purpose: RequestPurpose) => {
    requireAllowed(settingIn(settings, 'status'), principal, purpose, clock.nowMs())
  }
  return {
    check: async (principal, purpose) => {
      const { tenantId } = principal
      const settings = await facts.of(tenantId).catch(() => facts.known(tenantId))
      requireIn(settings, principal, purpose)
    },
    checkCreation: (principal) => {
      requireIn(facts.known(principal.tenantId), principal, 'create')
    },
  }
}
