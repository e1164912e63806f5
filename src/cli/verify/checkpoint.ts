import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto'
import { DIGEST_BYTES } from '../../app/audit/second-tree.ts'
import { UsageError } from '../output.ts'
import { NotVerifiedError, requireThat, shownText } from './not-verified.ts'

/** Signed heads of trees, and the keys that are trusted to sign them (C2SP signed-note and tlog-checkpoint). */

/** The type of an Ed25519 key, before its bytes. */
const ED25519 = 1
const KEY_BYTES = 32
const ID_BYTES = 4
/** The beginning of an Ed25519 key in the form that Node reads (SPKI). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const KEY_NAME_END = '/statements'
const MAX_CHECKPOINT_CHARACTERS = 16_384

/** A key that is trusted, by its name and id. */
export interface TrustedKey {
  /** The host of the gateway whose statements it signs. */
  readonly issuer: string
  readonly name: string
  readonly id: string
  readonly key: KeyObject
}

/** Reads `<name>+<id>+<key>`. @throws UsageError for any other text */
export function readTrustedKey(vkey: string): TrustedKey {
  const [, name = '', id = '', base64 = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? []
  const refuse = (why: string): never => {
    throw new UsageError(`--key ${shownText(vkey)}: ${why}`)
  }
  if (name === '') refuse('a key is <name>+<id>+<key>, one line of the well-known path')
  const typed = Buffer.from(base64, 'base64')
  if (typed.toString('base64') !== base64 || typed.length !== KEY_BYTES + 1 || typed[0] !== ED25519)
    refuse('it is no Ed25519 key')
  const digest = createHash('sha256').update(`${name}\n`).update(typed).digest('hex')
  if (!digest.startsWith(id)) refuse('its id belongs to another name or key')
  if (!name.endsWith(KEY_NAME_END) || name === KEY_NAME_END)
    refuse(`it does not sign statements: its name does not end with ${KEY_NAME_END}`)
  const der = Buffer.concat([SPKI, typed.subarray(1)])
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  return { issuer: name.slice(0, -KEY_NAME_END.length), name, id, key }
}

/** The head of the tree of a closed month, which a trusted key has signed. */
export interface SignedHead {
  readonly origin: string
  readonly account: {
    readonly tenant: string
    readonly currency: string
    readonly month: string
    readonly attempt: number
  }
  readonly leaves: number
  readonly root: Buffer
  /** The signed text. */
  readonly text: string
}

/** Reads a signed note that is a checkpoint. @throws NotVerifiedError where no trusted key has signed it */
export function openCheckpoint(note: string, keys: readonly TrustedKey[]): SignedHead {
  const refuse = (why: string): never => {
    throw new NotVerifiedError(`the checkpoint ${why}`)
  }
  if (note.length > MAX_CHECKPOINT_CHARACTERS) refuse('is too long')
  const [, text, signatures] = /^((?:[^\n]+\n){3})\n((?:[^\n]+\n)+)$/.exec(note) ?? []
  if (text === undefined || signatures === undefined)
    return refuse('is no signed note of three lines')
  const signer = signerOf(text, signatures.trimEnd().split('\n'), keys)
  if (signer === undefined)
    return refuse('is signed by none of the keys that were given with --key')
  const [origin = '', leaves = '', root = ''] = text.split('\n')
  if (!/^[1-9]\d{0,15}$/.test(leaves) || !Number.isSafeInteger(Number(leaves)))
    refuse('has no number of leaves')
  const [, tenant = '', currency = '', month = '', attempt = ''] =
    /^\/(.+)\/([^/]+)\/(\d{4}-\d{2})\/([1-9]\d{0,5})$/.exec(
      origin.startsWith(`${signer.issuer}/`) ? origin.slice(signer.issuer.length) : '',
    ) ?? []
  if (tenant === '') refuse(`is of ${shownText(origin)}, which ${signer.name} does not sign`)
  return {
    origin,
    account: { tenant, currency, month, attempt: Number(attempt) },
    leaves: Number(leaves),
    root: readHash(root),
    text,
  }
}

/** The first trusted key that signed; signatures by others are ignored. */
function signerOf(
  text: string,
  lines: readonly string[],
  keys: readonly TrustedKey[],
): TrustedKey | undefined {
  let signer: TrustedKey | undefined
  for (const line of lines) {
    const [, name, base64 = ''] = /^— ([^\s+]+) (\S+)$/.exec(line) ?? []
    const bytes = readBase64(base64)
    if (name === undefined || bytes === undefined || bytes.length <= ID_BYTES)
      throw new NotVerifiedError('the checkpoint has a line that is no signature')
    const id = bytes.subarray(0, ID_BYTES).toString('hex')
    const by = keys.find((one) => one.name === name && one.id === id)
    if (by === undefined) continue
    requireThat(
      verify(null, Buffer.from(text), by.key, bytes.subarray(ID_BYTES)),
      `the signature by ${name} is not one of this checkpoint`,
    )
    signer ??= by
  }
  return signer
}

/** Bytes of base64 in its one form; undefined for any other text. */
export function readBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length > 0 && bytes.toString('base64') === text ? bytes : undefined
}

/** @throws NotVerifiedError for a text that is no hash in base64 */
export function readHash(text: string): Buffer {
  const bytes = readBase64(text)
  if (bytes?.length !== DIGEST_BYTES) throw new NotVerifiedError(`${shownText(text)} is no hash`)
  return bytes
}
