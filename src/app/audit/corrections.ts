/** Keys kept at most; beyond it too much is wrong to say what follows from what. */
const MAX_KEYS = 20_000

/**
 * By how much sums over rows must be corrected because rows are known to be wrong: what is derived from
 * them is then not found a second time.
 */
export class Corrections {
  readonly #byKey = new Map<string, readonly bigint[]>()
  overflowed = false

  add(key: string, amounts: readonly bigint[]): void {
    const before = this.#byKey.get(key)
    if (before === undefined && this.#byKey.size >= MAX_KEYS) this.overflowed = true
    else this.#byKey.set(key, before ? amounts.map((each, n) => each + (before[n] ?? 0n)) : amounts)
  }

  /** What to add to the sums of a key; zeros where nothing is wrong. */
  of(key: string, width: number): readonly bigint[] {
    return this.#byKey.get(key) ?? Array.from({ length: width }, () => 0n)
  }

  /** Keys with a correction that begin so. */
  keys(prefix = ''): readonly string[] {
    return [...this.#byKey].flatMap(([key, amounts]) =>
      key.startsWith(prefix) && amounts.some((each) => each !== 0n) ? [key] : [],
    )
  }
}
