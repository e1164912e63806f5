import { isUtf8 } from 'node:buffer'
import { digestOfLeaf, rootAbove } from '../../app/audit/second-tree.ts'
import {
  openCheckpoint,
  readBase64,
  readHash,
  type SignedHead,
  type TrustedKey,
} from './checkpoint.ts'
import { textOfFile } from './files.ts'
import { NotVerifiedError, requireThat, within } from './not-verified.ts'
import { type PostingFacts, readPostingLeaf } from './posting-leaf.ts'

/** A `.tlog-proof`: one posting is in the signed tree of a month (C2SP tlog-proof). */

const MAX_BYTES = 131_072
const FORM =
  /^c2sp\.org\/tlog-proof@v1\nextra ([^\n]+)\nindex (0|[1-9]\d{0,15})\n((?:[A-Za-z0-9+/=]+\n){0,53})\n/

interface ProvedPosting {
  readonly posting: PostingFacts
  readonly head: SignedHead
}

/**
 * @param statement the head that a statement of the same month has signed; undefined without a statement
 * @throws NotVerifiedError where anything in it does not hold
 */
export function verifyLineProof(
  file: string,
  keys: readonly TrustedKey[],
  statement: SignedHead | undefined,
): ProvedPosting {
  const text = textOfFile(file, MAX_BYTES)
  const [head = '', extra = '', index = '', hashes = ''] = FORM.exec(text) ?? []
  if (head === '') throw new NotVerifiedError('the file is no proof of a posting')
  const leaf = readBase64(extra)
  if (leaf === undefined) throw new NotVerifiedError('the leaf after "extra" is not base64')
  requireThat(isUtf8(leaf), 'the leaf after "extra" is not UTF-8')
  const signed = openCheckpoint(text.slice(head.length), keys)
  const posting = within('the leaf', () => readPostingLeaf(leaf.toString()))
  requireThat(
    posting.tenant === signed.account.tenant && posting.currency === signed.account.currency,
    'the posting is of another account than the checkpoint',
  )
  const neighbours = hashes.split('\n').slice(0, -1).map(readHash)
  const root = rootAbove(digestOfLeaf(leaf), Number(index), signed.leaves, neighbours)
  requireThat(root?.equals(signed.root) === true, 'the posting is not in the signed tree')
  requireThat(
    statement === undefined || statement.text === signed.text,
    'the proof is not of the month of the statement',
  )
  return { posting, head: signed }
}
