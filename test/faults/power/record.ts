import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Dice } from '../driver/random.ts'

/**
 * What `recorder.c` recorded, and the folder as a disk may have it when the power goes at a moment: names are
 * in a journal, of which a beginning is on the disk, and of each file what came before its last sync, with
 * any beginning of what came after it, or with zeros in the place of that. So do ext4 and XFS.
 */

const HEAD_BYTES = 32
const kinds = [
  '',
  'open',
  'write',
  'truncate',
  'sync',
  'rename',
  'unlink',
  'mkdir',
  'rmdir',
  'link',
]

/** One change, in the order in which all processes made them. */
interface Step {
  readonly kind: string
  readonly path: string
  readonly other: string
  readonly inode: bigint
  readonly offset: number
  readonly data: Buffer
  /** Where it ends in the record. */
  readonly end: number
}

export function readSteps(record: Buffer): readonly Step[] {
  const steps: Step[] = []
  for (let at = 0; at + HEAD_BYTES <= record.length;) {
    const [pathBytes, otherBytes, dataBytes] = [4, 8, 12].map((n) => record.readUInt32LE(at + n))
    const parts = [pathBytes, otherBytes, dataBytes].map((n = 0) => n)
    let from = at + HEAD_BYTES
    const [path, other, data] = parts.map((n) => record.subarray(from, (from += n)))
    steps.push({
      kind: kinds[record.readUInt32LE(at)] ?? '',
      path: String(path),
      other: String(other),
      inode: record.readBigUInt64LE(at + 16),
      offset: Number(record.readBigInt64LE(at + 24)),
      data: data ?? Buffer.alloc(0),
      end: from,
    })
    at = from
  }
  return steps
}

/** A write, or a truncation where there is no data. */
interface Change {
  readonly offset: number
  readonly data: Buffer | undefined
}

class File {
  readonly changes: Change[] = []
  sizeBytes = 0
  /** What a sync has made durable of it. */
  durable = { changes: 0, sizeBytes: 0 }

  change(change: Change): void {
    this.changes.push(change)
    this.sizeBytes = sizeAfter(this.sizeBytes, change)
  }

  sync(): void {
    this.durable = { changes: this.changes.length, sizeBytes: this.sizeBytes }
  }
}

function sizeAfter(sizeBytes: number, { offset, data }: Change): number {
  return data === undefined ? offset : Math.max(sizeBytes, offset + data.length)
}

type Names = Map<string, File | 'folder'>
type NameChange = (names: Names) => void

/** The state of all files after some steps. */
class Disk {
  readonly names: Names = new Map()
  readonly #journal: NameChange[] = []
  /** How much of the journal a sync has made durable. */
  #durable = 0
  readonly #files = new Map<bigint, File | 'folder'>()
  readonly #lastNamed = new Map<File, number>()

  take({ kind, path, other, inode, offset, data }: Step): void {
    const file = this.#files.get(inode)
    if (kind === 'open') this.#opened(path, inode, offset)
    else if (kind === 'write' && file instanceof File) file.change({ offset, data })
    else if (kind === 'truncate' && file instanceof File) file.change({ offset, data: undefined })
    else if (kind === 'sync') this.#synced(file)
    else if (kind === 'mkdir') this.#name((names) => void names.set(path, 'folder'))
    else if (kind === 'rename') this.#name((names) => renamed(names, path, other), path)
    else if (kind === 'link')
      this.#name((names) => {
        const linked = names.get(path)
        if (linked !== undefined) names.set(other, linked)
      })
    else if (kind === 'unlink' || kind === 'rmdir') this.#name((names) => void names.delete(path))
  }

  #opened(path: string, inode: bigint, offset: number): void {
    const isFolder = offset < 0
    const known = this.names.get(path)
    if (known === undefined || known !== this.#files.get(inode)) {
      const made = isFolder ? 'folder' : new File()
      this.#files.set(inode, made)
      this.#name((names) => void names.set(path, made))
      if (made !== 'folder') this.#lastNamed.set(made, this.#journal.length)
    }
    const file = this.#files.get(inode)
    if (offset === 1 && file instanceof File) file.change({ offset: 0, data: undefined })
  }

  #name(change: NameChange, path?: string): void {
    const file = path === undefined ? undefined : this.names.get(path)
    change(this.names)
    this.#journal.push(change)
    if (file instanceof File) this.#lastNamed.set(file, this.#journal.length)
  }

  #synced(file: File | 'folder' | undefined): void {
    const isWhole = !(file instanceof File) || file.sizeBytes !== file.durable.sizeBytes
    if (file instanceof File) file.sync()
    // A new size is in the journal, which is written up to it.
    const named = isWhole ? this.#journal.length : (this.#lastNamed.get(file) ?? 0)
    this.#durable = Math.max(this.#durable, named)
  }

  /** What may be on the disk: content by path. */
  afterPowerLoss(dice: Dice): ReadonlyMap<string, Buffer | 'folder'> {
    const kept: Names = new Map()
    const until = dice.integer(this.#durable, this.#journal.length)
    for (const change of this.#journal.slice(0, until)) change(kept)
    return new Map(
      [...kept].map(([path, file]) => [path, file === 'folder' ? file : contentOf(file, dice)]),
    )
  }
}

function renamed(names: Names, from: string, to: string): void {
  const moved = names.get(from)
  if (moved === undefined) return
  names.delete(from)
  names.set(to, moved)
  for (const [path, file] of moved === 'folder' ? [...names] : [])
    if (path.startsWith(`${from}/`)) {
      names.delete(path)
      names.set(to + path.slice(from.length), file)
    }
}

function contentOf({ changes, durable }: File, dice: Dice): Buffer {
  const some = dice.integer(durable.changes, changes.length)
  const taken = dice.pick([durable.changes, some, changes.length])
  const sizes: number[] = [0]
  for (const change of changes) sizes.push(sizeAfter(sizes.at(-1) ?? 0, change))
  const content = Buffer.alloc(Math.max(...sizes))
  for (const { offset, data } of changes.slice(0, taken))
    if (data === undefined) content.fill(0, offset)
    else data.copy(content, offset)
  // The size is a part of the journal, and may be there before the bytes.
  return content.subarray(0, sizes[dice.chance(0.3) ? changes.length : taken])
}

/** Makes the folder `from` of the record at `to`, as it may be after the first of the steps. */
export async function rebuild(
  steps: readonly Step[],
  { from, to, dice }: { readonly from: string; readonly to: string; readonly dice: Dice },
): Promise<void> {
  const disk = new Disk()
  for (const step of steps) disk.take(step)
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const [path, content] of disk.afterPowerLoss(dice)) {
    if (!path.startsWith(`${from}/`)) continue
    const place = join(to, path.slice(from.length))
    await mkdir(content === 'folder' ? place : dirname(place), { recursive: true, mode: 0o700 })
    if (content !== 'folder') await writeFile(place, content, { mode: 0o600 })
  }
}
