import { type Sharer, type Shares, SharedUse } from './sharers.ts'

/** Waiting work of a tenant, by user. */
type Waiting = Map<string, Set<() => void>>

/**
 * Bounds how much work of one user and of one tenant is done at once: further work waits, so that
 * it does not delay others. The users of a tenant get their turns one after another.
 */
export class SharerPlaces {
  readonly #used: SharedUse
  readonly #waitMs: number
  readonly #onWait: () => void
  readonly #waiting = new Map<string, Waiting>()

  constructor(shares: Shares, waitMs: number, onWait: () => void = () => undefined) {
    this.#used = new SharedUse(shares)
    this.#waitMs = waitMs
    this.#onWait = onWait
  }

  /**
   * Calls `begin` once there is a place, which `leave` gives back; or, after it waited too long,
   * with true and without a place.
   */
  enter(sharer: Sharer, begin: (isLate: boolean) => void): void {
    if (this.#used.fits(sharer)) {
      this.#used.add(sharer)
      begin(false)
      return
    }
    this.#onWait()
    const inTurn = (): void => {
      clearTimeout(timer)
      this.#used.add(sharer)
      begin(false)
    }
    const timer = setTimeout(() => {
      this.#forget(sharer, inTurn)
      begin(true)
    }, this.#waitMs)
    const { user, tenant } = sharer
    const ofTenant: Waiting = this.#waiting.get(tenant) ?? new Map()
    this.#waiting.set(tenant, ofTenant)
    ofTenant.set(user, (ofTenant.get(user) ?? new Set()).add(inTurn))
  }

  leave(sharer: Sharer): void {
    this.#used.add(sharer, -1)
    const { tenant } = sharer
    const ofTenant = this.#waiting.get(tenant)
    if (ofTenant === undefined) return
    for (const [user, [next]] of ofTenant) {
      if (next === undefined || !this.#used.fits({ user, tenant })) continue
      const waiting = ofTenant.get(user)
      this.#forget({ user, tenant }, next)
      // The next work of this user waits behind that of others.
      if (waiting !== undefined && ofTenant.delete(user)) ofTenant.set(user, waiting)
      next()
      return
    }
  }

  #forget({ user, tenant }: Sharer, work: () => void): void {
    const ofTenant = this.#waiting.get(tenant)
    const ofUser = ofTenant?.get(user)
    ofUser?.delete(work)
    if (ofUser?.size === 0) ofTenant?.delete(user)
    if (ofTenant?.size === 0) this.#waiting.delete(tenant)
  }
}
