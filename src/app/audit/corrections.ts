/** Most keys kept; with more, too much is wrong to know which finding follows from which. */
const MAX_KEYS = 20_000

/**
 * Corrections of sums over rows for rows known to be wrong, so that the sums are not reported a
 * second time.
 */
export class Corrections {
  readonly #byKey = new Map<string, readonly bigint[]>()
  overflowed = false

  add(key: string, amounts: readonly bigint[]): void {
    const before = this.#byKey.get(key)
    if (before === undefined && this.#byKey.size >= MAX_KEYS) this.overflowed = true
    else this.#byKey.set(key, before ? amounts.map((each, n) => each + (before[n] ?? 0n)) : amounts)
  }

  /** Amounts to add to the sums of a key; zeros when nothing is wrong. */
  of(key: string, width: number): readonly bigint[] {
    return this.#byKey.get(key) ?? Array.from({ length: width }, () => 0n)
  }

  /** Keys with a correction and this prefix. */
  keys(prefix = ''): readonly string[] {
    return [...this.#byKey].flatMap(([key, amounts]) =>
      key.startsWith(prefix) && amounts.some((each) => each !== 0n) ? [key] : [],
    )
  }
}
