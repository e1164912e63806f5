import { memoryJournal, openJournal, type Journal } from '../tasks/journal.ts'
import type { AssetRecord, GroupRecord, LibraryRecord, SessionRecord } from './record.ts'

type Line =
  | { readonly t: 'put'; readonly records: readonly LibraryRecord[] }
  | { readonly t: 'seq'; readonly next: number }

const FILE = 'library.jsonl'
const MAX_ID_TRIES = 1_000

/** What the libraries of every region accepted: assets, groups and verifications. */
export class LibraryStore {
  readonly #records = new Map<string, LibraryRecord>()
  readonly #reserved = new Set<string>()
  readonly #maxRecords: number
  #journal: Journal = memoryJournal
  #nextSeq = 1
  #journalLines = 0
  #compacting = false

  private constructor(maxRecords: number) {
    this.#maxRecords = maxRecords
  }

  /** Opens the store; with a directory, what was accepted before is there again. */
  static async open(directory: string | null, maxRecords: number): Promise<LibraryStore> {
    const store = new LibraryStore(maxRecords)
    if (directory === null) return store
    store.#journal = await openJournal(directory, (line) => store.#load(line as Line), FILE)
    store.#evict()
    await store.#rewrite()
    return store
  }

  /** A number nothing else has. */
  newSeq(): number {
    this.#nextSeq += 1
    return this.#nextSeq - 1
  }

  /** An id nothing has, which is taken from now on. */
  freshId(make: () => string): string {
    for (let tries = 0; tries < MAX_ID_TRIES; tries += 1) {
      const id = make()
      if (this.#records.has(id) || this.#reserved.has(id)) continue
      this.#reserved.add(id)
      return id
    }
    throw new Error('no free id of the library')
  }

  /** Resolves once the record is durable, and only then there. @throws Error when it could not be written */
  async add(record: LibraryRecord): Promise<void> {
    try {
      await this.#journal.append({ t: 'put', records: [record] } satisfies Line)
    } finally {
      this.#reserved.delete(record.id)
    }
    this.#records.set(record.id, record)
    this.#journalLines += 1
    this.#evict()
    this.#compact()
  }

  /** Replaces records at once, new ones among them, and resolves when that is durable. */
  async replace(records: readonly LibraryRecord[]): Promise<void> {
    for (const record of records) {
      this.#records.set(record.id, record)
      this.#reserved.delete(record.id)
    }
    this.#journalLines += 1
    await this.#journal.append({ t: 'put', records } satisfies Line)
    this.#compact()
  }

  asset(id: string): AssetRecord | null {
    const record = this.#records.get(id)
    return record?.kind === 'asset' ? record : null
  }

  group(id: string): GroupRecord | null {
    const record = this.#records.get(id)
    return record?.kind === 'group' ? record : null
  }

  session(id: string): SessionRecord | null {
    const record = this.#records.get(id)
    return record?.kind === 'session' ? record : null
  }

  /** Oldest first, as are the others. */
  assets(): readonly AssetRecord[] {
    return this.#inOrder().filter((record) => record.kind === 'asset')
  }

  groups(): readonly GroupRecord[] {
    return this.#inOrder().filter((record) => record.kind === 'group')
  }

  sessions(): readonly SessionRecord[] {
    return this.#inOrder().filter((record) => record.kind === 'session')
  }

  /** Forgets everything; sequence numbers go on. */
  async reset(): Promise<void> {
    this.#records.clear()
    await this.#rewrite()
  }

  close(): Promise<void> {
    return this.#journal.close()
  }

  #inOrder(): LibraryRecord[] {
    return [...this.#records.values()].sort((a, b) => a.seq - b.seq)
  }

  #load(line: Line): void {
    if (line.t === 'seq') {
      this.#nextSeq = Math.max(this.#nextSeq, line.next)
      return
    }
    for (const record of line.records) {
      this.#records.set(record.id, record)
      this.#nextSeq = Math.max(this.#nextSeq, record.seq + 1)
    }
  }

  *#lines(): Generator<Line> {
    yield { t: 'seq', next: this.#nextSeq }
    for (const record of this.#records.values()) yield { t: 'put', records: [record] }
  }

  async #rewrite(): Promise<void> {
    await this.#journal.rewrite(() => this.#lines())
    this.#journalLines = this.#records.size + 1
  }

  /** Acceptance order is insertion order but for records in flight together. */
  #evict(): void {
    for (const id of this.#records.keys()) {
      if (this.#records.size <= this.#maxRecords) return
      this.#records.delete(id)
    }
  }

  /** Keeps the file within a bound: about four lines a kept record. */
  #compact(): void {
    if (this.#compacting || this.#journalLines < 4 * this.#maxRecords) return
    this.#compacting = true
    void this.#rewrite()
      .catch(() => undefined)
      .finally(() => {
        this.#compacting = false
      })
  }
}
