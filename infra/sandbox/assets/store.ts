import { type Journal, memoryJournal, openJournal } from '../tasks/journal.ts'
import { NO_MARKS, stateAt, type TaskPlan, type TaskState } from '../tasks/record.ts'
import type { Region } from './signature.ts'

/** What an asset is. */
export const ASSET_TYPES = ['Image', 'Video', 'Audio'] as const
export type AssetType = (typeof ASSET_TYPES)[number]

/** `AIGC`: the general library. `LivenessFace`: of a person who was verified. */
export const GROUP_TYPES = ['AIGC', 'LivenessFace'] as const
export type GroupType = (typeof GROUP_TYPES)[number]

/** Status of an asset, in the words of this wire. */
export const STATUSES = ['Processing', 'Active', 'Failed'] as const
export type AssetStatus = (typeof STATUSES)[number]

/** The members that every accepted resource has; a record is replaced, never changed. */
export interface AcceptedResource {
  readonly seq: number
  readonly id: string
  readonly region: Region
  readonly projectName: string
  readonly acceptedAtMs: number
  /** A test's own name of the request: of `[[client=…]]`, else what the thing was called. */
  readonly clientMarker: string | null
  /** `x-client-request-id` of the request. */
  readonly clientRequestId: string | null
  /** Start of the hash of the access key's id. */
  readonly credential: string
}

interface StoredResource extends AcceptedResource {
  readonly groupType: GroupType
  readonly name: string
  readonly updatedAtMs: number
  readonly deletedAtMs: number | null
}

/** An accepted asset; where its media was fetched from is not kept. */
export interface AssetRecord extends StoredResource {
  readonly kind: 'asset'
  readonly groupId: string
  readonly assetType: AssetType
  readonly plan: TaskPlan
}

/** A group; one of a person exists from `acceptedAtMs` on, which may lie ahead. */
export interface GroupRecord extends StoredResource {
  readonly kind: 'group'
  readonly description: string
}

/** What the person's page ended in. */
export interface Submission {
  readonly atMs: number
  readonly passed: boolean
  /** When the result is known; null: never. */
  readonly readyAtMs: number | null
  /** The group made for the person; null where there is none. */
  readonly groupId: string | null
}

/** A verification that was begun; its id is no credential, but follows from one. */
export interface SessionRecord extends AcceptedResource {
  readonly kind: 'session'
  readonly callbackUrl: string
  /** The result is known so long after the page was submitted; null: never. */
  readonly resultMs: number | null
  /** Why the result is that no person was verified, although the page said so; null: the page decides. */
  readonly failCode: string | null
  readonly expiresAtMs: number
  readonly submission: Submission | null
}

export type LibraryRecord = AssetRecord | GroupRecord | SessionRecord

/** Records of assets are kept until they are deleted. */
const FOR_EVER = { taskMs: Infinity, cancelledMs: Infinity }

/** An asset at a moment, as a task: `visible` is whether it can be found. */
export function assetState(asset: AssetRecord, nowMs: number): TaskState {
  return stateAt(asset, { ...NO_MARKS, deletedAtMs: asset.deletedAtMs }, nowMs, FOR_EVER)
}

/** This wire's name of a task's status. */
export function statusOf({ phase }: Pick<TaskState, 'phase'>): AssetStatus {
  switch (phase) {
    case 'queued':
    case 'running':
      return 'Processing'
    case 'succeeded':
      return 'Active'
    case 'failed':
    case 'expired':
    case 'cancelled':
      return 'Failed'
  }
}

/** Whether a group can be found at a moment. */
export function groupExists(group: GroupRecord, nowMs: number): boolean {
  return group.deletedAtMs === null && nowMs >= group.acceptedAtMs
}

/** Status of a verification at a moment; its credential is invalid once it expired. */
export function sessionStatus(
  session: SessionRecord,
  nowMs: number,
): 'pending' | 'passed' | 'failed' | 'expired' {
  const { submission, failCode } = session
  if (nowMs >= session.expiresAtMs) return 'expired'
  if (submission === null) return 'pending'
  if (!submission.passed) return 'failed'
  if (submission.readyAtMs === null || nowMs < submission.readyAtMs) return 'pending'
  return failCode === null ? 'passed' : 'failed'
}

/** `YYYYMMDDhhmmss` in UTC, as ids of this upstream begin. */
export function stampOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')
}

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

  /** Opens the store; with a directory, it holds again what was accepted before. */
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

  /**
   * Resolves once the record is durable; only then queries find it. @throws Error when it could not
   * be written
   */
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
