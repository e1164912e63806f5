import { type AccountSettings, settingIn } from '../../domain/account/settings.ts'
import { requireAllowed, type RequestPurpose } from '../../domain/account/status.ts'
import type { Clock } from '../../kernel/clock.ts'
import { withTimeout } from '../../kernel/pause.ts'
import type { Principal } from './principal.ts'

/** A request that only reads waits this long for the account of its tenant. */
const READ_WAIT_MS = 1_000

/** Refuses what the life of a tenant and of its users does not allow. */
export interface TenantAccess {
  /**
   * Waits for the account, if this process has not read it for a while; otherwise it answers at once.
   * If the account cannot be read, or not soon for a request that only reads, what is known counts: reads
   * go on while the log is away, and calls and creations are refused without their prices anyway.
   *
   * @throws DomainError `tenant_closed`, `tenant_suspended`, `user_suspended`
   */
  readonly check: (principal: Principal, purpose: RequestPurpose) => Promise<void> | undefined
  /**
   * Refuses a creation by the settings that this process has read of the tenant: to be called once
   * its prices are known, which are read from the same account. @throws as `check`
   */
  readonly checkCreation: (principal: Principal) => void
}

export function createTenantAccess(
  facts: {
    readonly awaited: (tenantId: string) => Promise<AccountSettings> | undefined
    readonly known: (tenantId: string) => AccountSettings
  },
  clock: Clock,
): TenantAccess {
  const requireIn = (
    settings: AccountSettings,
    principal: Principal,
    purpose: RequestPurpose,
  ): undefined => {
    requireAllowed(settingIn(settings, 'status'), principal, purpose, clock.nowMs())
  }
  return {
    check: (principal, purpose) => {
      const { tenantId } = principal
      const read = facts.awaited(tenantId)
      const known = () => facts.known(tenantId)
      if (read === undefined) return requireIn(known(), principal, purpose)
      const waited = purpose === 'create' ? read : withTimeout(READ_WAIT_MS, read, known)
      return waited.catch(known).then((settings) => requireIn(settings, principal, purpose))
    },
    checkCreation: (principal) => {
      requireIn(facts.known(principal.tenantId), principal, 'create')
    },
  }
}
