/**
 * Whose use of something shared is counted together. It is never a token by itself: a user issues
 * itself any number of tokens, and the administrator of a tenant any number of users.
 */
export interface Sharer {
  /** Differs from every other user's and tenant's. */
  readonly user: string
  /** That of all users of its tenant. */
  readonly tenant: string
}

/** The most that one user, and all users of one tenant together, may have of something. */
export interface Shares {
  readonly perUser: number
  readonly perTenant: number
}

/** Of what all share a user leaves half to others, and a tenant half of that half. */
export function sharesOf(total: number, userShare = 0.5): Shares {
  return {
    perUser: Math.max(1, Math.floor(total * userShare)),
    perTenant: Math.max(1, Math.floor((total * (1 + userShare)) / 2)),
  }
}

/** What a tenant may have of a rate, in multiples of what one of its users may have. */
export const TENANT_FOLD = 4

/** What users and tenants have of something at the moment. */
export class SharedUse {
  readonly #shares: Shares
  readonly #used = new Map<string, number>()

  constructor(shares: Shares) {
    this.#shares = shares
  }

  /**
   * Whether so much more is within both shares. Of what the sharer has, `ownAmount` belongs to the same work: work
   * that is alone always fits, however large it is.
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
