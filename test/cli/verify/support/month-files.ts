import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NotVerifiedError } from '../../../../src/cli/verify/not-verified.ts'
import { verifyFiles } from '../../../../src/cli/verify/verify.ts'
import type { ClosedMonth } from './closed-month.ts'

/** A folder for the files of closed months, and the program's verifier over them. */

const fileNames = {
  statement: 'statement.json',
  postings: 'postings.ndjson',
  proof: 'line.tlog-proof',
} as const
export type MonthFile = keyof typeof fileNames
export const monthFiles = Object.keys(fileNames) as readonly MonthFile[]

export interface Verdict {
  /** The message of a file that does not verify; undefined: all do. */
  readonly why: string | undefined
  readonly lines: readonly string[]
}

export interface MonthFolder {
  /** Writes these files and verifies them by the program. */
  readonly verify: (
    files: Partial<Readonly<Record<MonthFile, string | Uint8Array>>>,
    vkey: string,
  ) => Verdict
  /** Writes a file; returns its path. */
  readonly write: (name: string, content: string | Uint8Array) => string
  /** Removes a file. */
  readonly unlink: (name: string) => void
  readonly remove: () => void
}

export function createMonthFolder(): MonthFolder {
  const folder = mkdtempSync(join(tmpdir(), 'statement-'))
  const write = (name: string, content: string | Uint8Array): string => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }
  return {
    write,
    verify: (files, vkey) => {
      const paths = monthFiles.flatMap((file) => {
        const content = files[file]
        return content === undefined ? [] : [write(fileNames[file], content)]
      })
      const lines: string[] = []
      try {
        verifyFiles(paths, [vkey], (line) => lines.push(line))
        return { why: undefined, lines }
      } catch (error) {
        if (!(error instanceof NotVerifiedError)) throw error
        return { why: error.message.replaceAll(`${folder}/`, ''), lines }
      }
    },
    unlink: (name) => rmSync(join(folder, name)),
    remove: () => rmSync(folder, { recursive: true }),
  }
}

/** The files of a month without its key. */
export function filesOf({ statement, postings, proof }: ClosedMonth) {
  return { statement, postings, proof }
}
