import { isUtf8 } from 'node:buffer'
import { closeSync, openSync, readSync } from 'node:fs'
import { CommandError } from '../output.ts'
import { NotVerifiedError, requireThat } from './not-verified.ts'

/** Files are read at once or line by line, in bounded memory whatever they have. */

const NEWLINE = 10
const CARRIAGE_RETURN = 13
const BYTE_ORDER_MARK = Buffer.from('\uFEFF')
const READ_BYTES = 1_048_576
/** A proof has the leaf in base64 on one line, and common readers stop at lines of 64 KiB. */
const MAX_LEAF_BYTES = 48_000
const TOO_LONG = `the line is longer than ${MAX_LEAF_BYTES.toLocaleString('en')} bytes`

const readFailures: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'its permissions do not allow it',
  ELOOP: 'its symbolic links lead to themselves',
}

/** Does something with an open file. @throws CommandError where the system cannot read it */
function* reading<T>(file: string, work: (fd: number) => Generator<T>): Generator<T> {
  let fd: number | undefined
  try {
    fd = openSync(file, 'r')
    yield* work(fd)
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error && 'code' in error)) throw error
    const why = readFailures[String(error.code)] ?? error.message
    throw new CommandError(`${file} cannot be read: ${why}`, { cause: error })
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function checkText(bytes: Buffer): void {
  requireThat(isUtf8(bytes), 'the text is not UTF-8')
}

function checkBeginning(bytes: Buffer): void {
  requireThat(bytes.length > 0, 'the file is empty')
  const hasMark = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
  requireThat(!hasMark, 'the file begins with a byte order mark')
}

/** The text of a file. @throws NotVerifiedError where it is larger, or no UTF-8 */
export function textOfFile(file: string, maxBytes: number): string {
  const parts: Buffer[] = []
  let size = 0
  for (const part of chunksOf(file)) {
    size += part.length
    requireThat(size <= maxBytes, `the file is larger than ${maxBytes.toLocaleString('en')} bytes`)
    parts.push(Buffer.from(part))
  }
  const bytes = Buffer.concat(parts)
  checkBeginning(bytes)
  checkText(bytes)
  return bytes.toString()
}

/** The bytes of a file, part by part; each is overwritten by the next one. */
function chunksOf(file: string): Generator<Buffer> {
  return reading(file, function* (fd) {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    for (let size = readSync(fd, buffer); size > 0; size = readSync(fd, buffer))
      yield buffer.subarray(0, size)
  })
}

/**
 * The lines of a file that are leaves of a tree, without their newlines; each is overwritten by the next ones.
 * @throws NotVerifiedError for a line that cannot be one
 */
export function* leavesOfFile(file: string): Generator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  let isFirst = true
  for (const part of chunksOf(file)) {
    const bytes = rest.length === 0 ? part : Buffer.concat([rest, part])
    if (isFirst) checkBeginning(bytes)
    isFirst = false
    let from = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      const line = bytes.subarray(from, end)
      checkLine(line)
      yield line
      from = end + 1
    }
    rest = Buffer.from(bytes.subarray(from))
    checkLength(rest)
  }
  if (isFirst) checkBeginning(rest)
  if (rest.length > 0)
    throw new NotVerifiedError('the line has no newline at its end: the file is not whole')
}

function checkLength({ length }: Buffer): void {
  requireThat(length <= MAX_LEAF_BYTES, TOO_LONG)
}

function checkLine(line: Buffer): void {
  requireThat(line.length > 0, 'the line is empty')
  checkLength(line)
  requireThat(line.at(-1) !== CARRIAGE_RETURN, 'the line ends with a carriage return')
  checkText(line)
}
