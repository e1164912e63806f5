import type { FamilyKit } from '../family.ts'

/** A file of an account. */
export interface StoredFile {
  /** In decimal. */
  readonly id: string
  readonly purpose: string
  readonly filename: string
  readonly bytes: Buffer
  readonly createdAtMs: number
}

/** Files beyond are the oldest and forgotten. */
const MAX_FILES = 2_000
/** First of the ids: no double holds it nor those that follow. */
const FIRST_ID = 2n ** 53n + 1n

/** Files by the account they belong to, in memory. */
class FileStore {
  readonly #files = new Map<string, StoredFile>()
  readonly #nowMs: () => number
  #nextId = FIRST_ID

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Odd ids alone: rounded to a double, each would be another. */
  add(account: string, file: Omit<StoredFile, 'id' | 'createdAtMs'>): StoredFile {
    const id = this.#nextId.toString()
    this.#nextId += 2n
    const stored = { ...file, id, createdAtMs: this.#nowMs() }
    this.#files.set(`${account}\n${id}`, stored)
    if (this.#files.size > MAX_FILES) {
      const [oldest] = this.#files.keys()
      if (oldest !== undefined) this.#files.delete(oldest)
    }
    return stored
  }

  find(account: string, id: string): StoredFile | undefined {
    return this.#files.get(`${account}\n${id}`)
  }

  reset(): void {
    this.#files.clear()
  }
}

const stores = new WeakMap<object, FileStore>()

/** The files of a sandbox: whatever speaks of the same accounts shares them. */
export function filesOf(kit: FamilyKit): FileStore {
  const known = stores.get(kit)
  if (known !== undefined) return known
  const store = new FileStore(kit.clock.nowMs)
  stores.set(kit, store)
  kit.onReset(() => store.reset())
  return store
}
