/**
 * Whose use of something shared is counted together. It is never a token by itself: a user issues
 * itself any number of tokens, and the administrator of a tenant any number of users.
 */
export interface Sharer {
  /** Key that no other user and no tenant has. */
  readonly user: string
  /** Key that all users of the tenant have in common. */
  readonly tenant: string
}

/** The most that one user, and all users of one tenant together, may have of something. */
export interface Shares {
  readonly perUser: number
  readonly perTenant: number
}

/** Shares of a resource: by default a user gets at most half of it, and a tenant three quarters. */
export function sharesOf(total: number, userShare = 0.5): Shares {
  return {
    perUser: Math.max(1, Math.floor(total * userShare)),
    perTenant: Math.max(1, Math.floor((total * (1 + userShare)) / 2)),
  }
}

/** A tenant's rate limit is this multiple of the limit of one user. */
export const TENANT_FOLD = 4

/** Amounts of a resource that users and tenants have in use. */
export class SharedUse {
  readonly #shares: Shares
  readonly #used = new Map<string, number>()

  constructor(shares: Shares) {
    this.#shares = shares
  }

  /**
   * Whether both shares allow so much more. `ownAmount` is the part of the amount in use that belongs to the same
   * work: work that runs alone always fits, whatever its size.
   */
  fits({ user, tenant }: Sharer, amount = 1, ownAmount = 0): boolean {
    const { perUser, perTenant } = this.#shares
    const isWithin = (key: string, share: number): boolean => {
      const used = this.#used.get(key) ?? 0
      return used <= ownAmount || used + amount <= share
    }
    return isWithin(user, perUser) && isWithin(tenant, perTenant)
  }

  /** A negative amount is given back. */
  add({ user, tenant }: Sharer, amount = 1): void {
    for (const key of [user, tenant]) {
      const used = (this.#used.get(key) ?? 0) + amount
      if (used > 0) this.#used.set(key, used)
      else this.#used.delete(key)
    }
  }
}
