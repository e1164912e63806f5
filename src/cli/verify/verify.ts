import { UsageError } from '../output.ts'
import { readTrustedKey } from './checkpoint.ts'
import { verifyLineProof } from './line-proof.ts'
import { NotVerifiedError, shownText, within } from './not-verified.ts'
import { verifyPostings } from './postings.ts'
import { type VerifiedStatement, verifyStatement } from './statement.ts'

/** Verifies the files of a closed month; `docs/verify.md` has their format, and every check in order. */

export const VERIFY_DESCRIPTION =
  'check a closed month offline: its statement, its postings, or single lines'
export const VERIFY_FILES =
  'statement.json, postings.ndjson and any number of *.tlog-proof, by the end of their names'
export const VERIFY_KEY =
  'the public key of the gateway, from /.well-known/tollgate-statement-keys; may be repeated'

export const VERIFY_HELP = `
A statement verifies if a key signed its month, its figures add up, and all that it shows follows from them. With the
postings: that these are all of them, none added, and that each price is exact. A .tlog-proof shows one posting
in a signed month, with or without the statement.

Get the key from the gateway once and keep it: a key that came with the files proves nothing. For example:

  curl https://gateway.example/.well-known/tollgate-statement-keys
  tollgate verify statement.json postings.ndjson --key gateway.example/statements+530d903a+AekyeRrm…

The exit code is 0 if every file verifies, 3 if one does not, 1 if one cannot be read, and 2 for wrong arguments.
dist/verify.mjs is the same as one file for people without Tollgate; it needs Node alone. docs/verify.md has the format.`

interface Files {
  readonly statement: string | undefined
  readonly postings: readonly string[]
  readonly proofs: readonly string[]
}

/** @throws UsageError for a file of another name, a second statement, or postings without one */
function sortFiles(files: readonly string[]): Files {
  const ending = (end: string): readonly string[] => files.filter((file) => file.endsWith(end))
  const [statement, second] = ending('.json')
  const sorted = { statement, postings: ending('.ndjson'), proofs: ending('.tlog-proof') }
  const known = new Set([...ending('.json'), ...sorted.postings, ...sorted.proofs])
  const unknown = files.find((file) => !known.has(file))
  if (unknown !== undefined)
    throw new UsageError(
      `${shownText(unknown)} is no file that can be verified: its name must end with .json, .ndjson or .tlog-proof`,
    )
  if (files.length === 0) throw new UsageError('name a file: a statement, for example')
  if (second !== undefined) throw new UsageError('name one statement at a time')
  if (sorted.postings.length > 0 && statement === undefined)
    throw new UsageError('name the statement of the postings too: it has the signature')
  return sorted
}

/**
 * Verifies each file, the statement first, and reports it on a line. Stops at the first that does not verify.
 * @throws NotVerifiedError naming the file; UsageError for wrong arguments; CommandError where a file cannot be read
 */
export function verifyFiles(
  files: readonly string[],
  vkeys: readonly string[],
  report: (line: string) => void,
): void {
  const sorted = sortFiles(files)
  if (vkeys.length === 0)
    throw new UsageError('name the key of the gateway with --key: without it nothing is proved')
  const keys = vkeys.map((vkey) => readTrustedKey(vkey.trim()))
  const inFile = <T>(file: string, work: () => T): T =>
    within(`${shownText(file)} does not verify`, work)
  let statement: VerifiedStatement | undefined
  if (sorted.statement !== undefined) {
    const file = sorted.statement
    statement = inFile(file, () => verifyStatement(file, keys))
    report(summaryOf(statement))
  }
  for (const file of sorted.postings) {
    const postings = inFile(file, () => {
      if (statement === undefined) throw new NotVerifiedError('there is no statement')
      return verifyPostings(file, statement)
    })
    report(`${postings} postings: all of them, none added, each exact`)
  }
  for (const file of sorted.proofs) {
    const { posting, head } = inFile(file, () => verifyLineProof(file, keys, statement?.head))
    const { kind, id, at } = posting
    report(`${kind} ${shownText(id)} of ${at}: in the signed month ${shownText(head.origin)}`)
  }
}

function summaryOf({ close, isVoid }: VerifiedStatement): string {
  const { statement, tenant, currency, month, opening, closing } = close
  const names = [tenant, currency, month].map(shownText).join(', ')
  const end = isVoid ? ', but it is void' : ''
  return `${shownText(statement)}: ${names}: ${opening} → ${closing}: signed, and it adds up${end}`
}
