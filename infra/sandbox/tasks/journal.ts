import { open, rename, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolders, syncFolder } from '../../../src/platform/durable-files.ts'

/** Appends JSON lines; a line's promise resolves when it is durable. */
export interface Journal {
  /** Resolves once the line is on disk. */
  readonly append: (line: object) => Promise<void>
  /** Written soon, not awaited, lost at worst with the machine. */
  readonly note: (line: object) => void
  /** Replaces the whole content; `lines` is asked once everything appended before is durable. */
  readonly rewrite: (lines: () => Iterable<object>) => Promise<void>
  readonly close: () => Promise<void>
}

/** Keeps nothing: the sandbox without a data directory. */
export const memoryJournal: Journal = {
  append: () => Promise.resolve(),
  note: () => undefined,
  rewrite: () => Promise.resolve(),
  close: () => Promise.resolve(),
}

const MAX_BATCH_LINES = 1000
const MAX_QUEUED_LINES = 100_000

interface Waiting {
  readonly text: string
  readonly done: ((error?: Error) => void) | null
}

class FileJournal implements Journal {
  #file: FileHandle
  readonly #path: string
  #queue: Waiting[] = []
  #work: Promise<void> = Promise.resolve()
  #draining = false
  /** Bytes known good: a failed write is cut back to here, or the next line would join its remains. */
  #bytes: number

  constructor(file: FileHandle, path: string, bytes: number) {
    this.#file = file
    this.#path = path
    this.#bytes = bytes
  }

  readonly append = (line: object): Promise<void> =>
    new Promise((resolve, reject) => {
      if (this.#queue.length >= MAX_QUEUED_LINES) return reject(new Error('journal queue is full'))
      const done = (error?: Error): void => (error === undefined ? resolve() : reject(error))
      this.#push({ text: `${JSON.stringify(line)}\n`, done })
    })

  readonly note = (line: object): void => {
    if (this.#queue.length >= MAX_QUEUED_LINES) return
    this.#push({ text: `${JSON.stringify(line)}\n`, done: null })
  }

  readonly rewrite = async (lines: () => Iterable<object>): Promise<void> => {
    const job = this.#work.then(() =>
      this.#replace([...lines()].map((line) => `${JSON.stringify(line)}\n`)),
    )
    this.#work = job.catch(() => undefined)
    await job
  }

  readonly close = async (): Promise<void> => {
    await this.#work
    await this.#file.close()
  }

  #push(waiting: Waiting): void {
    this.#queue.push(waiting)
    if (this.#draining) return
    this.#draining = true
    this.#work = this.#work.then(() => this.#drain())
  }

  /** One writer: what arrives during a sync shares the next one. */
  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, MAX_BATCH_LINES)
      let failure: Error | undefined
      const text = batch.map((waiting) => waiting.text).join('')
      try {
        await this.#file.appendFile(text)
        if (batch.some((waiting) => waiting.done !== null)) await this.#file.datasync()
        this.#bytes += Buffer.byteLength(text)
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error))
        await this.#file.truncate(this.#bytes).catch(() => undefined)
      }
      for (const waiting of batch) waiting.done?.(failure)
    }
    this.#draining = false
  }

  async #replace(content: readonly string[]): Promise<void> {
    const fresh = `${this.#path}.new`
    const file = await open(fresh, 'w', 0o600)
    try {
      for (let i = 0; i < content.length; i += MAX_BATCH_LINES) {
        await file.appendFile(content.slice(i, i + MAX_BATCH_LINES).join(''))
      }
      await file.datasync()
    } finally {
      await file.close()
    }
    await rename(fresh, this.#path)
    await this.#file.close()
    this.#file = await open(this.#path, 'a', 0o600)
    this.#bytes = (await this.#file.stat()).size
    await syncFolder(dirname(this.#path))
  }
}

function parseLine(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whole lines before the first torn one; a tear is only possible at the end. @throws Error if elsewhere. */
async function readLines(path: string, onLine: (line: unknown) => void): Promise<number> {
  const file = await open(path, 'a+', 0o600)
  try {
    let goodBytes = 0
    let torn = false
    for await (const text of file.readLines({ autoClose: false, start: 0 })) {
      if (torn) throw new Error(`${path} is damaged before its end, at byte ${goodBytes}`)
      const line = parseLine(text)
      if (line === undefined) {
        torn = true
        continue
      }
      onLine(line)
      goodBytes += Buffer.byteLength(text) + 1
    }
    return goodBytes
  } finally {
    await file.close()
  }
}

/**
 * Opens the journal in a directory, handing every kept line to `onLine` first.
 * @throws Error when the file is damaged before its end or the directory cannot be written.
 */
export async function openJournal(
  directory: string,
  onLine: (line: unknown) => void,
  fileName = 'accepted.jsonl',
): Promise<Journal> {
  await makeFolders(directory, 0o700)
  const path = join(directory, fileName)
  const goodBytes = await readLines(path, onLine)
  const file = await open(path, 'a', 0o600)
  const { size } = await file.stat()
  // A last line without its newline was never acknowledged: cut it, or the next line would join it.
  if (size !== goodBytes) await file.truncate(Math.min(size, goodBytes))
  if (size < goodBytes) await file.appendFile('\n')
  await syncFolder(directory)
  return new FileJournal(file, path, (await file.stat()).size)
}
